"""Probe which questions reference models answer without documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta

from ragbed.builder.build_context import Build, reject
from ragbed.builder.contamination import SEEN, find_seen
from ragbed.builder.model_requests import Request, closed_book
from ragbed.builder.records import Draft, Probe
from ragbed.schema import Article, Case, Completion, Reject
from ragbed.scoring.robust import score
from ragbed.testbeds.prompts.requests import case_of

STEP = "probes"
_WARMTH = 0.7
"""At zero all samples would be one."""


def make_probes(build: Build) -> Iterator[Probe | Reject]:
    """The step: what models may have read, or cannot be asked, goes; the rest is known without documents or not."""
    gate = build.recipe.gate
    models = gate.models or (build.recipe.generator,)
    late, seen, drafts = _first_day(build), _find_seen(build), []
    for draft in build.read("questions", Draft):
        if draft.origin == "article" and (problem := _too_old(draft, late) or _too_common(draft, seen)):
            yield problem
        else:
            drafts.append(draft)
    cases = {draft.id: _case(draft) for draft in drafts}
    replies = {
        model: build.ask(Request(STEP, model, list(cases.values()), gate.samples, _WARMTH if gate.samples > 1 else 0.0))
        for model in models
    }
    for draft in drafts:
        case = cases[draft.id]
        told = {model: replies[model][case.case] for model in models}
        if failed := next((one for some in told.values() for one in some if one.outcome == "error"), None):
            yield reject(STEP, draft.question, "error", f"a model could not be asked: {failed.error}")
            continue
        probe = Probe(
            question=draft.id,
            known_by=tuple(model for model, said in told.items() if _knows(case, said)),
            asked=tuple(models),
        )
        if draft.origin == "known" and not probe.is_known:
            yield reject(STEP, draft.question, "unknown", f"the models do not say {draft.answer[0][0]!r} by themselves")
        else:
            yield probe


def _case(draft: Draft) -> Case:
    messages = closed_book(draft.lang, draft.question)
    return case_of("build", STEP, draft.lang, messages, question=draft.question, answer=draft.answer)


def _knows(case: Case, said: Sequence[Completion]) -> bool:
    """Whether most replies are right; one that a provider's filter held back is not."""
    right = sum(score(case, one.reply or "")["correct"] is True for one in said if one.outcome == "ok")
    return 2 * right > len(said)


def _first_day(build: Build) -> str:
    """The first day that no model with a declared cut-off can know of; empty if none is declared."""
    gate = build.recipe.gate
    last = max(gate.cutoffs.values(), default="")
    return (date.fromisoformat(last) + timedelta(days=gate.margin_days)).isoformat() if last else ""


def _too_old(draft: Draft, late: str) -> Reject | None:
    if not late:
        return None
    if draft.date is None:
        return reject(STEP, draft.question, "undated", f"nothing tells that it is later than {late}")
    if draft.date <= late:
        return reject(STEP, draft.question, "cut-off", f"it is of {draft.date}; the models may know up to {late}")
    return None


def _find_seen(build: Build) -> dict[str, float]:
    """Of each article that a question is from, the share that stands in the recipe's corpora."""
    if not build.corpora:
        return {}
    asked = {draft.article for draft in build.read("questions", Draft)}
    return find_seen(
        {one.id: (one.lang, one.text) for one in build.read("articles", Article) if one.id in asked}, build.corpora
    )


def _too_common(draft: Draft, seen: Mapping[str, float]) -> Reject | None:
    share = seen.get(draft.article or "", 0.0)
    if share < SEEN:
        return None
    return reject(STEP, draft.question, "seen", f"{share:.0%} of its article stands word for word in a corpus")
