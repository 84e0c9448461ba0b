"""Ranked passages → pools: every passage with its stance to the answer, none of them twice (R19)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ragbed.build.asking import Request, make_case
from ragbed.build.opinions import VERDICTS, ask_opinion, weigh_opinion
from ragbed.build.place import Build, reject
from ragbed.build.records import Candidate, Draft, Pool, Ranked
from ragbed.build.sieve import sift
from ragbed.build.stances import STANCES, label_passage
from ragbed.prompts.verdict import find_verdict
from ragbed.schema import Case, Completion, Labelling, Passage, Reject

STEP = "stances"
_FAR = "random"
"""The label of a passage about something else: no noise in the paper's sense (R3), and easily had from other items."""
_MANY, _NEARLY_ALL = 100, 0.9
"""Passages of which a judge has been asked before it is doubted, and the share of one verdict from which it is: of a
question's pool a quarter to a half supports the answer."""
_Opinions: TypeAlias = Mapping[str, Sequence[Completion]]


class _Job(NamedTuple):
    """One question."""

    draft: Draft
    candidates: Sequence[Candidate]
    opinions: _Opinions
    """Of a model, by the name of the case that it was asked."""


def make_pools(build: Build) -> Iterator[Pool | Reject]:
    """The step: labels by rules, and by a model where the recipe names one; then what cannot stand together goes."""
    drafts = {draft.id: draft for draft in build.read("questions", Draft)}
    ranked = [(drafts[one.question], one.candidates) for one in build.read("ranking", Ranked)]
    opinions = _ask(build, ranked)
    yield from _doubt(build, ranked, opinions)
    jobs = (_Job(draft, candidates, _opinions_of(draft, candidates, opinions)) for draft, candidates in ranked)
    for number, found in enumerate(build.engine.spread(_make_pool, jobs)):
        build.watch(STEP, number, len(ranked))
        yield from found


def _make_pool(job: _Job) -> list[Pool | Reject]:
    """One question's passages: what cannot be in its pool, and the pool."""
    draft, candidates, opinions = job
    found: list[Pool | Reject] = []
    failed = [place for place, one in enumerate(candidates) if _has_failed(draft, one, opinions)]
    for place in failed:
        told = f"for {draft.question!r} the judge could not be asked"
        found.append(reject(STEP, candidates[place].url, "error", told))
    able = [one for place, one in enumerate(candidates) if place not in failed]
    labellings = [_label(draft, candidate, opinions) for candidate in able]
    reasons = sift([candidate.text for candidate in able], labellings)
    passages = []
    for candidate, labelling, reason in zip(able, labellings, reasons, strict=True):
        far = f"{_FAR}: {labelling.reason}" if labelling.label == _FAR else ""
        outcome, _, why = (reason or far).partition(": ")
        if outcome:
            found.append(reject(STEP, candidate.url, outcome, f"for {draft.question!r}: {why}"))
        else:
            passages.append(_passage(candidate, labelling))
    return [*found, Pool(question=draft.id, passages=tuple(passages))]


def _opinions_of(draft: Draft, candidates: Sequence[Candidate], opinions: _Opinions) -> _Opinions:
    names = (_case(draft, candidate).case for candidate in candidates) if opinions else ()
    return {name: opinions[name] for name in names}


def _ask(build: Build, ranked: Sequence[tuple[Draft, Sequence[Candidate]]]) -> _Opinions:
    judge = build.recipe.pools.judge
    if judge is None:
        return {}
    cases = [_case(draft, candidate) for draft, candidates in ranked for candidate in candidates]
    return build.ask(Request(STEP, judge, list({case.case: case for case in cases}.values())))


def _doubt(build: Build, ranked: Sequence[tuple[Draft, Sequence[Candidate]]], opinions: _Opinions) -> Iterator[Reject]:
    """Tells of a judge that says one thing of everything: small models do, and leave no question its passages."""
    for lang in build.recipe.langs if opinions else ():
        own = [_case(draft, one).case for draft, some in ranked if draft.lang == lang for one in some]
        said = Counter(find_verdict(opinions[name][0].reply or "", VERDICTS) for name in own)
        for word, count in said.most_common(1):
            if len(own) >= _MANY and count >= _NEARLY_ALL * len(own):
                told = f"it says {word!r}" if word else "it gives no verdict"
                reason = f"{told} of {count:,} of {len(own):,} passages in {lang}, whatever they hold: name another"
                yield reject(STEP, build.recipe.pools.judge or "", "judge", reason)


def _case(draft: Draft, candidate: Candidate) -> Case:
    return make_case(STEP, draft.lang, ask_opinion(draft, candidate.text))


def _has_failed(draft: Draft, candidate: Candidate, opinions: _Opinions) -> bool:
    return bool(opinions) and opinions[_case(draft, candidate).case][0].outcome == "error"


def _label(draft: Draft, candidate: Candidate, opinions: _Opinions) -> Labelling:
    labelling = label_passage(draft, candidate.text, title=candidate.title)
    said = opinions.get(_case(draft, candidate).case) if opinions else None
    return weigh_opinion(labelling, said[0].reply or "") if said else labelling


def _passage(candidate: Candidate, labelling: Labelling) -> Passage:
    stance = STANCES[labelling.label] or "distracts"
    return Passage(
        text=candidate.text,
        stance=stance,
        kind="related" if stance == "supports" else labelling.label,
        support=labelling.support if stance == "supports" else None,
        url=candidate.url,
        title=candidate.title or None,
        date=candidate.date,
        snippet_of=candidate.url if candidate.is_snippet else None,
        page=candidate.page,
        licence=candidate.licence,
    )
