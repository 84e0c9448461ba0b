"""Combine two verified questions into one that no single document answers."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import combinations
from math import ceil, comb

from ragbed.builder.answers import limit_sources
from ragbed.builder.build_context import Build, reject
from ragbed.builder.drafting import is_given_away
from ragbed.builder.mentions import find_answer
from ragbed.builder.model_requests import make_case, write_prompt
from ragbed.builder.questions import ask_for_fields
from ragbed.builder.recipe import wanted_of
from ragbed.builder.records import Combination, Draft, LabelledPool, Probe, Verified
from ragbed.builder.topic_terms import find_anchors, find_years, share_of
from ragbed.retrieval.near_duplicates import Distinct
from ragbed.schema import Answer, Passage, Question, Reject
from ragbed.scoring.robust.normalise import fold
from ragbed.text import guess_lang, to_terms

STEP = "combinations"
_MOST_USES = 2
"""Pairs that one question may be in, so that no answer is asked for over and over."""
_TRIES = 50
"""Pairs that are looked at for each that is wanted: where so many will not do, the rest, which is less alike, hardly
will, and each takes all passages of both questions."""
_MOST_PAIRS = 1_000_000
"""The likest, of a number that grows with the square of the questions."""
_KEPT = 0.6
"""Share of a question's words, and of those that the other has not, that must be left in the joined one: the paper's
own example keeps 0.8 of them."""


def make_combinations(build: Build) -> Iterator[Combination | Reject]:
    """The step: the likest questions of a language are joined first, as readers would ask them together."""
    wanted = {lang: wanted_of(build.recipe, "integration", lang) for lang in build.recipe.langs}
    if not any(wanted.values()):
        return
    known = {probe.question for probe in build.read("probes", Probe) if probe.is_known}
    passed = {one.question for one in build.read("answers", Verified)} - known
    drafts = [draft for draft in build.read("questions", Draft) if draft.id in passed]
    pools = {pool.question: pool.passages for pool in build.read("stances", LabelledPool) if pool.question in passed}
    for lang, count in wanted.items():
        own = [draft for draft in drafts if draft.lang == lang] if count else []
        enough = ceil(count * build.recipe.questions.surplus)
        pairs, rejects = _choose(own, pools, build, enough)
        yield from rejects
        yield from _join(build, pairs)


def merge_pools(parts: Sequence[Draft], pools: Mapping[str, Sequence[Passage]]) -> list[tuple[int | None, Passage]]:
    """The passages of an integration item, each with the part it supports.

    One that bears several parts is left out, and so is one that is nearly another, those that distract first: pages of
    two events may be cut to one pattern.
    """
    merged, texts = _fitting(parts, pools), Distinct()
    order = sorted(range(len(merged)), key=lambda place: merged[place][0] is None)
    kept = {place for place in order if texts.keep(merged[place][1].text)}
    return [merged[place] for place in sorted(kept)]


def _fitting(parts: Sequence[Draft], pools: Mapping[str, Sequence[Passage]]) -> list[tuple[int | None, Passage]]:
    """Those that bear one part, or none and support none; copies among them."""
    answer: Answer = tuple(draft.answer[0] for draft in parts)
    merged: list[tuple[int | None, Passage]] = []
    seen: set[str] = set()
    for number, draft in enumerate(parts):
        for passage in pools[draft.id]:
            question = Question(question=draft.question, lang=draft.lang, answer=answer)
            held = [place for place, some in enumerate(find_answer(question, passage.text)) if some]
            fits = held == [number] if passage.stance == "supports" else not held
            if fits and passage.text not in seen:
                seen.add(passage.text)
                merged.append((number if passage.stance == "supports" else None, passage))
    return merged


def _choose(
    drafts: Sequence[Draft], pools: Mapping[str, Sequence[Passage]], build: Build, enough: int
) -> tuple[list[tuple[Draft, Draft]], list[Reject]]:
    """Pairs of like questions with answers and documents of their own."""
    terms = {draft.id: set(to_terms(draft.question)) for draft in drafts}

    def likeness(pair: tuple[Draft, Draft]) -> float:
        first, second = (terms[draft.id] for draft in pair)
        return len(first & second) / max(1, len(first | second))

    uses: Counter[str] = Counter()
    chosen: list[tuple[Draft, Draft]] = []
    rejects: list[Reject] = []
    most, is_cut = enough * _TRIES, comb(len(drafts), 2) > _MOST_PAIRS
    for pair in nlargest(_MOST_PAIRS, combinations(drafts, 2), key=likeness):
        if len(chosen) >= enough:
            break
        tried = len(chosen) + len(rejects)
        build.watch(STEP, tried, most)
        if tried >= most:
            is_cut = True
            break
        if any(uses[draft.id] >= _MOST_USES for draft in pair):
            continue
        problem = _unfit(pair, pools, build)
        if problem:
            rejects.append(reject(STEP, " + ".join(draft.question for draft in pair), *problem))
            continue
        uses.update(draft.id for draft in pair)
        chosen.append(pair)
    if is_cut and len(chosen) < enough:
        tried = len(chosen) + len(rejects)
        rejects.append(reject(STEP, f"{len(drafts)} questions", "tries", f"only the likest {tried} pairs were tried"))
    return chosen, rejects


def _unfit(pair: tuple[Draft, Draft], pools: Mapping[str, Sequence[Passage]], build: Build) -> tuple[str, str] | None:
    """Why two questions cannot be asked as one; outcome and reason."""
    first, second = pair
    crossed = Question(question=first.question, lang=first.lang, answer=second.answer)
    if any(find_answer(crossed, " ".join(first.answer[0]))):
        return "same-answer", f"both are answered by {first.answer[0][0]!r}"
    asked = build.recipe.pools
    limited = {draft.id: limit_sources(pools[draft.id], asked.per_source) for draft in pair}
    for merge in (_fitting, merge_pools):  # what is cheap first: most pairs fail
        parts = Counter(part for part, _ in merge(pair, limited))
        if min(parts[0], parts[1]) < max(1, asked.supports):
            return "shortcut", "too few documents answer one part without the other, copies apart"
        if parts[None] < asked.distracts:
            return "few-distracts", f"{parts[None]} passages hold neither answer; {asked.distracts} are asked for"
    return None


def _join(build: Build, pairs: Sequence[tuple[Draft, Draft]]) -> Iterator[Combination | Reject]:
    cases = [
        make_case(
            STEP,
            first.lang,
            write_prompt(first.lang, "combinations", {"FIRST": first.question, "SECOND": second.question}),
        )
        for first, second in pairs
    ]
    replies = ask_for_fields(build, STEP, cases, alone="question")
    for pair, case in zip(pairs, cases, strict=True):
        blocks, what = replies[case.case], " + ".join(draft.question for draft in pair)
        if not isinstance(blocks, list):
            yield reject(STEP, what, *blocks)
            continue
        question = blocks[0].get("question", "").strip()
        if problem := _refuse(question, pair):
            yield reject(STEP, what, *problem)
        else:
            yield Combination(
                id=hashlib.sha256("\0".join(draft.id for draft in pair).encode()).hexdigest()[:12],
                question=question,
                lang=pair[0].lang,
                parts=tuple(draft.id for draft in pair),
            )


def _refuse(question: str, pair: tuple[Draft, Draft]) -> tuple[str, str] | None:
    """What is wrong with a joined question; outcome and reason."""
    lang = pair[0].lang
    if not question.endswith(("?", "？")) or guess_lang(question) != lang:
        return "no-question", f"the generator gives no question in the language asked for: {question!r}"
    for draft in pair:
        if is_given_away(question, draft.answer[0][0], lang):
            return "in-question", f"{question!r} holds an answer, {draft.answer[0][0]}"
        if not _is_asked(draft, pair, question):
            return "incomplete", f"{question!r} does not ask {draft.question!r}"
    return None


def _is_asked(draft: Draft, pair: tuple[Draft, Draft], question: str) -> bool:
    """Whether a joined question has most of a part's words, most of those that only this part has, and its years."""
    lang = draft.lang
    folded, own = fold(question, lang), find_anchors(draft.question, lang)
    (other,) = (find_anchors(one.question, lang) for one in pair if one is not draft)
    if not find_years(fold(draft.question, lang)) <= find_years(folded):
        return False
    return all(share_of(some, folded, lang) >= _KEPT for some in (own, own - other) if some)
