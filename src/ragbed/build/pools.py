"""Ranked passages → pools: every passage with its stance to the answer, none of them twice (R19)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ragbed.build.asking import Request, make_case
from ragbed.build.opinions import ask_opinion, weigh_opinion
from ragbed.build.place import Build, reject
from ragbed.build.records import Candidate, Draft, Pool, Ranked
from ragbed.build.stances import STANCES, label_passage
from ragbed.schema import Case, Completion, Labelling, Passage, Reject
from ragbed.text.duplicates import find_near

STEP = "stances"
_FAR = "random"
"""The label of a passage about something else: no noise in the paper's sense (R3), and easily had from other items."""


def make_pools(build: Build) -> Iterator[Pool | Reject]:
    """The step: labels by rules, and by a model where the recipe names one."""
    drafts = {draft.id: draft for draft in build.read("questions", Draft)}
    ranked = [(drafts[one.question], _once(one.candidates)) for one in build.read("ranking", Ranked)]
    opinions = _ask(build, ranked)
    for number, (draft, (candidates, twice)) in enumerate(ranked):
        build.watch(STEP, number, len(ranked))
        for candidate, original in twice:
            reason = f"for {draft.question!r} it is nearly the text from {original.url}"
            yield reject(STEP, candidate.url, "near-duplicate", reason)
        passages = []
        for candidate in candidates:
            labelling = _label(draft, candidate, opinions)
            stance = STANCES[labelling.label]
            if stance is None or labelling.label == _FAR:
                yield reject(STEP, candidate.url, labelling.label, f"for {draft.question!r}: {labelling.reason}")
            else:
                passages.append(_passage(candidate, labelling))
        yield Pool(question=draft.id, passages=tuple(passages))


_Once = tuple[list[Candidate], list[tuple[Candidate, Candidate]]]
"""Candidates, each once; and those that were left out, each with the one it is nearly."""


def _once(candidates: Sequence[Candidate]) -> _Once:
    """Of texts that are nearly the same the nearest to the question stays."""
    near = find_near([candidate.text for candidate in candidates])
    first = {candidate.text: place for place, candidate in reversed(list(enumerate(candidates)))}
    kept: list[int] = []
    twice = []
    for place, candidate in enumerate(candidates):
        original = next((one for one in kept if one in near[place] or one == first[candidate.text]), None)
        if original is None:
            kept.append(place)
        else:
            twice.append((candidate, candidates[original]))
    return [candidates[place] for place in kept], twice


def _ask(build: Build, ranked: Sequence[tuple[Draft, _Once]]) -> Mapping[str, Sequence[Completion]]:
    judge = build.recipe.pools.judge
    if judge is None:
        return {}
    cases = [_case(draft, candidate) for draft, (candidates, _) in ranked for candidate in candidates]
    return build.ask(Request(STEP, judge, list({case.case: case for case in cases}.values())))


def _case(draft: Draft, candidate: Candidate) -> Case:
    return make_case(STEP, draft.lang, ask_opinion(draft, candidate.text))


def _label(draft: Draft, candidate: Candidate, opinions: Mapping[str, Sequence[Completion]]) -> Labelling:
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
