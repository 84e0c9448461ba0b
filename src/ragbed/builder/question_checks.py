"""Have models check each question: is it clear without its text, does the text answer it as stated, and is it known?

Three short calls decide: could somebody who has not seen the text understand the question, what does the model answer
from the passage alone, and does the passage state exactly this answer to exactly this question? For the questions that
pass, reference models are called without documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ragbed.builder.build_context import AcceptedQuestion, Build, Draft, Probe, Problem, RecordIndex, reject
from ragbed.builder.model_calls import WITHOUT_REPLY, Request, closed_book, make_case, spell, unique_cases, write_prompt
from ragbed.builder.statements import agrees, names_subject
from ragbed.schema import Article, Case, Completion, Reject
from ragbed.scoring.robust import score
from ragbed.testbeds.prompts.requests import case_of
from ragbed.testbeds.prompts.verdict import find_verdict

REVIEW_STEP = "review"
VERDICTS = ("yes", "no")
PROBES_STEP = "probes"
_NAMED = re.compile(r"^[\W_]*(?:Named|名称)\W*[:：]\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)


def make_review(build: Build) -> Iterator[AcceptedQuestion | Reject]:
    """Yield the questions that pass all checks."""
    rejected, names = list[Reject](), dict[str, str]()
    with RecordIndex(build, "articles", Article) as index:
        places = {article.id: offset for offset, article in index.scan()}
        drafts = build.read("questions", Draft)
        left = [(draft, _make_cases(draft, index.read(places[draft.article or ""]).text)) for draft in drafts]
    for name in ("clear", "reader", "states"):
        cases = unique_cases(own[name] for _, own in left)
        choices = VERDICTS if name == "states" else ()  # small models first have to name the subject, then decide
        responses = ask_checker(build, name, cases, choices)
        passed = []
        for draft, own in left:
            completion = responses[own[name].case]
            reply = (completion.reply or "").strip()
            if problem := find_failure(completion) or _find_problem(name, draft, reply):
                rejected.append(reject(REVIEW_STEP, draft.question, *problem))
                continue
            names.setdefault(draft.id, _find_name(reply))  # the first call, `clear`, asks for it
            passed.append((draft, own))
        left = passed
    yield from rejected
    yield from (AcceptedQuestion(question=draft.id, name=names[draft.id]) for draft, _ in left)


def ask_checker(
    build: Build, task: str, cases: Sequence[Case], choices: tuple[str, ...] = ()
) -> Mapping[str, Completion]:
    """Call the checking model."""
    checker = build.recipe.checks.model or build.recipe.generator
    return build.ask(Request(task, checker, cases, choices=choices)) if cases else {}


def reader_case(draft: Draft, documents: str) -> Case:
    """Return the case that asks for the answer to a question from documents alone."""
    prompt = write_prompt(draft.lang, "reader", {"DOCS": documents, "QUERY": draft.question})
    return make_case("reader", draft.lang, prompt, question=draft.question, answer=draft.answer)


def states_case(draft: Draft, documents: str, answer: str) -> Case:
    """Return the case that asks whether documents state an answer to a question."""
    texts = {"DOCS": documents, "QUERY": draft.question, "ANSWER": answer}
    return make_case("states", draft.lang, write_prompt(draft.lang, "states", texts))


def says_yes(reply: str) -> bool:
    """Check that the verdict in a response is yes."""
    return find_verdict(reply, VERDICTS) == "yes"


def _make_cases(draft: Draft, text: str) -> dict[str, Case]:
    """Return the three calls about a question."""
    passage = f"{draft.context}\n\n{text[slice(*draft.section)].strip()}".strip()
    return {
        "clear": make_case("clear", draft.lang, write_prompt(draft.lang, "clear", {"QUERY": draft.question})),
        "reader": reader_case(draft, passage),
        "states": states_case(draft, passage, spell(draft.answer)),
    }


def find_failure(completion: Completion) -> Problem | None:
    """Return the outcome and the reason if a call to the checking model failed."""
    if completion.outcome == "ok":
        return None
    reason = completion.error or WITHOUT_REPLY[completion.outcome]
    return completion.outcome, f"the call to the checking model failed: {reason}"


def _find_problem(task: str, draft: Draft, reply: str) -> Problem | None:
    """Return the outcome and the reason if a response shows that a question is not usable."""
    is_named = task != "clear" or names_subject(draft.question, _find_name(reply), draft.lang)
    if agrees(draft, reply) if task == "reader" else says_yes(reply) and is_named:
        return None
    question, answer = draft.question, draft.answer[0][0]
    return {
        "clear": ("unclear", f"somebody who has not seen the text would not understand {question!r}"),
        "reader": ("round-trip", f"from the text, the model answers {reply[:80]!r} instead of {answer!r}"),
        "states": ("not-stated", f"the text does not state {answer!r} as the answer to exactly {question!r}"),
    }[task]


def _find_name(reply: str) -> str:
    """Return the name of a question's subject in a response, or an empty string if the response has none."""
    return next(iter(_NAMED.findall(reply)), "")


def make_probes(build: Build) -> Iterator[Probe | Reject]:
    """Yield the models that answer each question without documents. Reject questions that should not be known."""
    models = build.recipe.gate.models or (build.recipe.generator,)
    passed = {record.question for record in build.read("review", AcceptedQuestion)}
    drafts = [draft for draft in build.read("questions", Draft) if draft.id in passed]
    requested = [
        case_of("build", PROBES_STEP, draft.lang, closed_book(draft.lang, draft.question),
                question=draft.question, answer=draft.answer)
        for draft in drafts
    ]  # fmt: skip
    responses = {model: build.ask(Request(PROBES_STEP, model, requested)) for model in models}
    for draft, case in zip(drafts, requested, strict=True):
        completions = {model: responses[model][case.case] for model in models}
        if failed := next((one for one in completions.values() if one.outcome == "error"), None):
            yield reject(PROBES_STEP, draft.question, "error", f"the call to a model failed: {failed.error}")
            continue
        # A response that the provider filtered counts as incorrect.
        answers = {model: one.reply or "" for model, one in completions.items() if one.outcome == "ok"}
        known_by = tuple(model for model, reply in answers.items() if score(case, reply)["correct"] is True)
        probe = Probe(question=draft.id, known_by=known_by, asked=tuple(models))
        if probe.is_known and not build.recipe.wanted.counterfactual:
            reason = f"most models answer {draft.answer[0][0]!r} without documents"
            yield reject(PROBES_STEP, draft.question, "known", reason)
        else:
            yield probe
