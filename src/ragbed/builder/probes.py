"""Determine which questions reference models can answer without documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from ragbed.builder.build_context import Build, Problem, reject
from ragbed.builder.model_requests import Request, closed_book
from ragbed.builder.recipe import reference_models, wanted_of
from ragbed.builder.records import Draft, Probe, ReviewedQuestion
from ragbed.schema import Case, Completion, Reject
from ragbed.scoring.robust import score
from ragbed.testbeds.prompts.requests import case_of

STEP = "probes"
_TEMPERATURE = 0.7  # at temperature 0, all samples would be identical


def make_probes(build: Build) -> Iterator[Probe | Reject]:
    """Yield the models that know each answer. Reject questions that models may have seen or for which a call failed."""
    gate = build.recipe.gate
    models = reference_models(build.recipe)
    first_day, cases = _first_day(build), {}
    passed = {record.question for record in build.read("review", ReviewedQuestion)}
    for draft in build.read("questions", Draft):
        if draft.id not in passed:
            continue
        if draft.origin == "article" and (problem := _find_age_problem(draft, first_day)):
            yield reject(STEP, draft.question, *problem)
        else:
            cases[draft.id] = draft, _case(draft)
    temperature = _TEMPERATURE if gate.samples > 1 else 0.0
    requested = [case for _, case in cases.values()]
    responses = {model: build.ask(Request(STEP, model, requested, gate.samples, temperature)) for model in models}
    for draft, case in cases.values():
        samples = {model: responses[model][case.case] for model in models}
        if failed := next((one for some in samples.values() for one in some if one.outcome == "error"), None):
            yield reject(STEP, draft.question, "error", f"the call to a model failed: {failed.error}")
            continue
        known_by = tuple(model for model, completions in samples.items() if _knows(case, completions))
        probe = Probe(question=draft.id, known_by=known_by, asked=tuple(models))
        if draft.origin == "known" and not probe.is_known:
            reason = f"most models do not answer {draft.answer[0][0]!r} without documents"
            yield reject(STEP, draft.question, "unknown", reason)
        elif probe.is_known and not wanted_of(build.recipe, "counterfactual", draft.lang):
            reason = f"most models answer {draft.answer[0][0]!r} without documents"
            yield reject(STEP, draft.question, "known", reason)
        else:
            yield probe


def _case(draft: Draft) -> Case:
    messages = closed_book(draft.lang, draft.question)
    return case_of("build", STEP, draft.lang, messages, question=draft.question, answer=draft.answer)


def _knows(case: Case, completions: Sequence[Completion]) -> bool:
    """Check that most responses are correct; a response that the provider filtered counts as incorrect."""
    correct = (score(case, one.reply or "")["correct"] is True for one in completions if one.outcome == "ok")
    return 2 * sum(correct) > len(completions)


def _first_day(build: Build) -> str:
    """Return the latest knowledge cut-off date plus the margin, in ISO format, or an empty string if there is none."""
    gate = build.recipe.gate
    last = max(gate.cutoffs.values(), default="")
    return (date.fromisoformat(last) + timedelta(days=gate.margin_days)).isoformat() if last else ""


def _find_age_problem(draft: Draft, first_day: str) -> Problem | None:
    if first_day and draft.date is None:
        return "undated", f"the article has no date, so it may not be later than {first_day}"
    if first_day and draft.date is not None and draft.date <= first_day:
        return "cut-off", f"the article is dated {draft.date}; models may know events up to {first_day}"
    return None
