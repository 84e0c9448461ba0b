"""Have models check each question: is it clear without its text, does the text answer it as stated, and is it known?

Three short calls decide: could somebody who has not seen the text understand the question, what does the model answer
from the passage alone, and does the passage state exactly this answer to exactly this question? For the questions that
pass, reference models are called without documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ragbed.builder.build_context import AcceptedQuestion, Build, Draft, Probe, Problem, RecordIndex, reject
from ragbed.builder.model_calls import WITHOUT_REPLY, Request, closed_book, make_case, spell, unique_cases, write_prompt
from ragbed.builder.recipe import checker_of, reference_models, wanted_of
from ragbed.builder.statements import agrees
from ragbed.schema import Article, Case, Completion, Reject
from ragbed.scoring.robust import score
from ragbed.testbeds.prompts.requests import case_of
from ragbed.testbeds.prompts.verdict import find_verdict

REVIEW_STEP = "review"
VERDICTS = ("yes", "no")
_TEMPERATURE = 0.7  # at temperature 0, all votes would be identical
PROBES_STEP = "probes"


class _Cases(NamedTuple):
    """The calls about one question, in the order in which they are made."""

    draft: Draft
    clear: Case
    reader: Case
    states: Case


def make_review(build: Build) -> Iterator[AcceptedQuestion | Reject]:
    """Yield the questions that pass all checks. Questions from the generator's own knowledge have no text to check."""
    left, rejected = [], list[Reject]()
    with RecordIndex(build, "articles", Article) as index:
        places = {article.id: offset for offset, article in index.scan()}
        for draft in build.read("questions", Draft):
            if draft.origin == "known":
                yield AcceptedQuestion(question=draft.id)
            else:
                left.append(_cases_of(draft, index.read(places[draft.article or ""]).text))
    for name, problem_of in (("clear", _find_unclear), ("reader", _find_disagreement), ("states", _find_unstated)):
        cases = unique_cases(getattr(one, name) for one in left)
        choices = VERDICTS if name == "states" else ()  # small models first have to name the subject, then decide
        responses = ask_checker(build, name, cases, choices)
        passed = []
        for one in left:
            completions = responses[getattr(one, name).case]
            problem = _find_failure(completions) or problem_of(one.draft, completions)
            if problem is None:
                passed.append(one)
            else:
                rejected.append(reject(REVIEW_STEP, one.draft.question, *problem))
        left = passed
    yield from rejected
    yield from (AcceptedQuestion(question=one.draft.id) for one in left)


def ask_checker(
    build: Build, task: str, cases: Sequence[Case], choices: tuple[str, ...] = ()
) -> Mapping[str, Sequence[Completion]]:
    """Call the checking model, several times per case if the recipe asks for votes."""
    votes = build.recipe.checks.votes
    temperature = _TEMPERATURE if votes > 1 else 0.0
    request = Request(task, checker_of(build.recipe), cases, votes, temperature, choices=choices)
    return build.ask(request) if cases else {}


def reader_case(draft: Draft, documents: str) -> Case:
    """Return the case that asks for the answer to a question from documents alone."""
    prompt = write_prompt(draft.lang, "reader", {"DOCS": documents, "QUERY": draft.question})
    return make_case("reader", draft.lang, prompt, question=draft.question, answer=draft.answer)


def states_case(draft: Draft, documents: str, answer: str) -> Case:
    """Return the case that asks whether documents state an answer to a question."""
    texts = {"DOCS": documents, "QUERY": draft.question, "ANSWER": answer}
    return make_case("states", draft.lang, write_prompt(draft.lang, "states", texts))


def says_yes(completions: Sequence[Completion]) -> bool:
    """Check that more than half of the responses say yes."""
    yes = sum(find_verdict(completion.reply or "", VERDICTS) == "yes" for completion in completions)
    return 2 * yes > len(completions)


def _cases_of(draft: Draft, text: str) -> _Cases:
    passage = f"{draft.context}\n\n{text[slice(*draft.section)].strip()}".strip()
    clear = make_case("clear", draft.lang, write_prompt(draft.lang, "clear", {"QUERY": draft.question}))
    return _Cases(draft, clear, reader_case(draft, passage), states_case(draft, passage, spell(draft.answer)))


def _find_failure(completions: Sequence[Completion]) -> Problem | None:
    failed = next((one for one in completions if one.outcome != "ok"), None)
    if failed is None:
        return None
    return failed.outcome, f"the call to the checking model failed: {failed.error or WITHOUT_REPLY[failed.outcome]}"


def _find_unclear(draft: Draft, completions: Sequence[Completion]) -> Problem | None:
    if says_yes(completions):
        return None
    return "unclear", f"somebody who has not seen the text would not understand {draft.question!r}"


def _find_disagreement(draft: Draft, completions: Sequence[Completion]) -> Problem | None:
    replies = [(completion.reply or "").strip() for completion in completions]
    if 2 * sum(agrees(draft, reply) for reply in replies) > len(replies):
        return None
    return "round-trip", f"from the text, the model answers {replies[0][:80]!r} instead of {draft.answer[0][0]!r}"


def _find_unstated(draft: Draft, completions: Sequence[Completion]) -> Problem | None:
    if says_yes(completions):
        return None
    return "not-stated", f"the text does not state {draft.answer[0][0]!r} as the answer to exactly {draft.question!r}"


def make_probes(build: Build) -> Iterator[Probe | Reject]:
    """Yield the models that answer each question without documents. Reject questions that should not be known."""
    gate, models = build.recipe.gate, reference_models(build.recipe)
    passed = {record.question for record in build.read("review", AcceptedQuestion)}
    cases = [(draft, _case(draft)) for draft in build.read("questions", Draft) if draft.id in passed]
    temperature = _TEMPERATURE if gate.samples > 1 else 0.0
    requested = [case for _, case in cases]
    responses = {
        model: build.ask(Request(PROBES_STEP, model, requested, gate.samples, temperature)) for model in models
    }
    for draft, case in cases:
        samples = {model: responses[model][case.case] for model in models}
        if failed := next((one for some in samples.values() for one in some if one.outcome == "error"), None):
            yield reject(PROBES_STEP, draft.question, "error", f"the call to a model failed: {failed.error}")
            continue
        known_by = tuple(model for model, completions in samples.items() if _knows(case, completions))
        probe = Probe(question=draft.id, known_by=known_by, asked=tuple(models))
        if draft.origin == "known" and not probe.is_known:
            reason = f"most models do not answer {draft.answer[0][0]!r} without documents"
            yield reject(PROBES_STEP, draft.question, "unknown", reason)
        elif probe.is_known and not wanted_of(build.recipe, "counterfactual", draft.lang):
            reason = f"most models answer {draft.answer[0][0]!r} without documents"
            yield reject(PROBES_STEP, draft.question, "known", reason)
        else:
            yield probe


def _case(draft: Draft) -> Case:
    messages = closed_book(draft.lang, draft.question)
    return case_of("build", PROBES_STEP, draft.lang, messages, question=draft.question, answer=draft.answer)


def _knows(case: Case, completions: Sequence[Completion]) -> bool:
    """Check that most responses are correct; a response that the provider filtered counts as incorrect."""
    correct = (score(case, one.reply or "")["correct"] is True for one in completions if one.outcome == "ok")
    return 2 * sum(correct) > len(completions)
