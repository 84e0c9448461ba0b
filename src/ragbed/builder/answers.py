"""Verify the answers of questions: by enough sources, and by a model that reads the passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ragbed.builder.build_context import Build, reject
from ragbed.builder.hedges import is_hedged
from ragbed.builder.mentions import find_answer
from ragbed.builder.model_requests import Request, make_case, write_prompt
from ragbed.builder.recipe import RecipePools
from ragbed.builder.records import Draft, LabelledPool, Verified
from ragbed.retrieval.local_index import host_of
from ragbed.schema import Case, Passage, Reject
from ragbed.scoring.robust import score

STEP = "answers"
_SHOWN = 5
"""Supporting passages that the reader sees: as many as a case has documents."""


def make_answers(build: Build) -> Iterator[Verified | Reject]:
    """The step: pools that are rich and varied enough, and whose supporting passages lead a reader to the answer."""
    drafts = {draft.id: draft for draft in build.read("questions", Draft)}
    sound = []
    for pool in build.read("stances", LabelledPool):
        draft, passages = drafts[pool.question], limit_sources(pool.passages, build.recipe.pools.per_source)
        if problem := _lacks(passages, build.recipe.pools) or _doubts(passages, draft):
            yield reject(STEP, draft.question, *problem)
        else:
            sound.append((draft, passages))
    cases = [_case(draft, passages) for draft, passages in sound]
    reader = build.recipe.pools.reader or build.recipe.generator
    replies = build.ask(Request(STEP, reader, list({case.case: case for case in cases}.values()))) if cases else {}
    for (draft, passages), case in zip(sound, cases, strict=True):
        completion = replies[case.case][0]
        said = (completion.reply or "").strip()
        if completion.outcome == "error":
            yield reject(STEP, draft.question, "error", f"the reader could not be asked: {completion.error}")
        elif score(case, said)["correct"] is not True:
            reason = f"a reader of the supporting passages says {said[:80]!r}, not {draft.answer[0][0]!r}"
            yield reject(STEP, draft.question, "reader", reason)
        else:
            yield _verified(draft, passages)


def source_of(passage: Passage) -> str:
    """What a passage depends on: the host of its page, or its file."""
    url = passage.url or ""
    return host_of(url) or url


def limit_sources(passages: Sequence[Passage], most: int) -> tuple[Passage, ...]:
    """The passages without those that one source has too many of, the farthest first."""
    seen: Counter[tuple[str, str]] = Counter()
    kept = []
    for passage in passages:
        key = source_of(passage), passage.stance
        seen[key] += 1
        if not most or seen[key] <= most:
            kept.append(passage)
    return tuple(kept)


def of_stance(passages: Sequence[Passage], stance: str) -> list[Passage]:
    """Those that have a stance."""
    return [passage for passage in passages if passage.stance == stance]


def _lacks(passages: Sequence[Passage], asked: RecipePools) -> tuple[str, str] | None:
    """What an item lacks; outcome and reason."""
    supports, distracts = of_stance(passages, "supports"), of_stance(passages, "distracts")
    sources, spread = {source_of(one) for one in supports}, {source_of(one) for one in passages}
    if len(supports) < asked.supports:
        return "few-supports", f"{len(supports)} passages support the answer; {asked.supports} are asked for"
    if len(distracts) < asked.distracts:
        return "few-distracts", f"{len(distracts)} passages distract; {asked.distracts} are asked for"
    if len(sources) < asked.sources:
        return "one-source", f"{len(sources)} sources support the answer; {asked.sources} are asked for"
    if len(spread) < asked.spread:
        return "one-sided", f"all passages are from {len(spread)} sources; {asked.spread} are asked for"
    return None


def _doubts(passages: Sequence[Passage], draft: Draft) -> tuple[str, str] | None:
    """Why a supported answer is none: outcome and reason, where all sources give it as a guess or a first count."""
    said = [one.text[slice(*one.support)] for one in of_stance(passages, "supports") if one.support]
    if said and all(_is_hedged(sentence, draft) for sentence in said):
        return "hedged", f"every source gives it as a guess: {said[0][:80]!r}"
    return None


def _is_hedged(sentence: str, draft: Draft) -> bool:
    (held,) = find_answer(draft, sentence)
    return bool(held) and all(is_hedged(sentence, one.end, draft.lang) for one in held)


def _case(draft: Draft, passages: Sequence[Passage]) -> Case:
    documents = "\n\n".join(passage.text for passage in of_stance(passages, "supports")[:_SHOWN])
    prompt = write_prompt(draft.lang, "reader", {"DOCS": documents, "QUERY": draft.question})
    return make_case(STEP, draft.lang, prompt, question=draft.question, answer=draft.answer)


def _verified(draft: Draft, passages: Sequence[Passage]) -> Verified:
    supports = of_stance(passages, "supports")
    return Verified(
        question=draft.id,
        supports=len(supports),
        distracts=len(of_stance(passages, "distracts")),
        sources=len({source_of(one) for one in supports}),
    )
