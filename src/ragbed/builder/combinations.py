"""Combine two verified questions into one that no single document answers."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import combinations
from math import ceil
from typing import TypeAlias

from ragbed.builder.build_context import Build, Combination, Draft, Problem, reject
from ragbed.builder.model_calls import make_case, write_prompt
from ragbed.builder.pools import read_verified
from ragbed.builder.question_rules import is_given_away
from ragbed.builder.questions import ask_for_fields
from ragbed.builder.statements import find_anchors, find_answer, find_years, share_of
from ragbed.retrieval.near_duplicates import Distinct
from ragbed.schema import Answer, Passage, Question, Reject
from ragbed.scoring.robust.normalise import fold
from ragbed.text import guess_lang, to_terms

STEP = "combinations"
_MAX_USES = 2  # maximum number of pairs per question, so that no answer dominates
# Maximum number of pairs to try per requested pair. Further pairs are less similar and rarely usable, and each
# attempt reads all passages of both questions.
_TRIES = 50
# Maximum number of pairs to consider, most similar first; the number of pairs is quadratic in the number of questions.
_MAX_PAIRS = 1_000_000
# Minimum share of a question's words, and of its distinctive words, that the combined question must contain. In the
# paper's own example, the share is 0.8.
_KEPT = 0.6

_Pools: TypeAlias = Mapping[str, Sequence[Passage]]


def make_combinations(build: Build) -> Iterator[Combination | Reject]:
    """Yield combined questions, starting with the most similar pairs of questions in each language."""
    count = build.recipe.wanted.integration
    if not count:
        return
    verified = read_verified(build)
    drafts = [draft for name, draft in verified.drafts.items() if not verified.probes[name].is_known]
    for lang in build.recipe.langs:
        own = [draft for draft in drafts if draft.lang == lang]
        pairs, rejects = _choose(own, verified.pools, build, ceil(count * build.recipe.questions.surplus))
        yield from rejects
        yield from _join(build, pairs)


def merge_pools(parts: Sequence[Draft], pools: _Pools) -> list[tuple[int | None, Passage]]:
    """Return an integration item's passages, each with the part of the answer that it supports.

    Passages that contain several parts are omitted. Only one of several near-duplicates is kept, preferably a
    supporting one, because pages about two events may follow the same template.
    """
    return _distinct(_usable(parts, pools))


def _distinct(merged: list[tuple[int | None, Passage]]) -> list[tuple[int | None, Passage]]:
    texts, order = Distinct(), sorted(range(len(merged)), key=lambda place: merged[place][0] is None)
    kept = {place for place in order if texts.keep(merged[place][1].text)}
    return [merged[place] for place in sorted(kept)]


def _usable(parts: Sequence[Draft], pools: _Pools) -> list[tuple[int | None, Passage]]:
    """Keep supporting passages that state only their own part of the answer, and other passages that state no part."""
    answer: Answer = tuple(draft.answer[0] for draft in parts)
    merged: dict[str, tuple[int | None, Passage]] = {}
    for number, draft in enumerate(parts):
        question = Question(question=draft.question, lang=draft.lang, answer=answer)
        for passage in pools[draft.id]:
            stated = [part for part, mentions in enumerate(find_answer(question, passage.text)) if mentions]
            supported = number if passage.stance == "supports" else None
            if stated == ([] if supported is None else [number]):
                merged.setdefault(passage.text, (supported, passage))
    return list(merged.values())


def _choose(
    drafts: Sequence[Draft], pools: _Pools, build: Build, enough: int
) -> tuple[list[tuple[Draft, Draft]], list[Reject]]:
    terms = {draft.id: set(to_terms(draft.question)) for draft in drafts}

    def similarity(pair: tuple[Draft, Draft]) -> float:
        first, second = (terms[draft.id] for draft in pair)
        return len(first & second) / max(1, len(first | second))

    uses: Counter[str] = Counter()
    chosen: list[tuple[Draft, Draft]] = []
    rejects: list[Reject] = []
    most = enough * _TRIES
    for pair in nlargest(_MAX_PAIRS, combinations(drafts, 2), key=similarity):
        tried = len(chosen) + len(rejects)
        build.watch(STEP, tried, most)
        if len(chosen) >= enough or tried >= most:
            break
        if any(uses[draft.id] >= _MAX_USES for draft in pair):
            continue
        if problem := _find_problem(pair, pools, build):
            rejects.append(reject(STEP, " + ".join(draft.question for draft in pair), *problem))
        else:
            uses.update(draft.id for draft in pair)
            chosen.append(pair)
    return chosen, rejects


def _find_problem(pair: tuple[Draft, Draft], pools: _Pools, build: Build) -> Problem | None:
    first, second = pair
    crossed = Question(question=first.question, lang=first.lang, answer=second.answer)
    if any(find_answer(crossed, " ".join(first.answer[0]))):
        return "same-answer", f"both questions have the answer {first.answer[0][0]!r}"
    required, usable = build.recipe.pools, _usable(pair, pools)
    for select in (list, _distinct):  # run the cheap check first, because most pairs fail it
        parts = Counter(part for part, _ in select(usable))
        if min(parts[0], parts[1]) < max(1, required.supports):
            return "shortcut", "too few distinct documents answer only one of the parts"
        if parts[None] < required.distracts:
            return (
                "few-distracts",
                f"{parts[None]} passages contain neither answer, but {required.distracts} are required",
            )
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
    responses = ask_for_fields(build, STEP, cases, alone="question")
    for pair, case in zip(pairs, cases, strict=True):
        blocks, name = responses[case.case], " + ".join(draft.question for draft in pair)
        if not isinstance(blocks, list):
            yield reject(STEP, name, *blocks)
            continue
        question = blocks[0].get("question", "").strip() if blocks else ""
        if problem := _check_question(question, pair):
            yield reject(STEP, name, *problem)
            continue
        parts = tuple(draft.id for draft in pair)
        yield Combination(
            id=hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12],
            question=question,
            lang=pair[0].lang,
            parts=parts,
        )


def _check_question(question: str, pair: tuple[Draft, Draft]) -> Problem | None:
    lang = pair[0].lang
    if not question.endswith(("?", "？")) or guess_lang(question) != lang:
        return "no-question", f"the generator did not return a question in {lang}: {question!r}"
    for draft in pair:
        if is_given_away(question, draft.answer[0][0], lang):
            return "in-question", f"{question!r} contains one of its answers, {draft.answer[0][0]}"
        if not _is_included(draft, pair, question):
            return "incomplete", f"{question!r} does not include {draft.question!r}"
    return None


def _is_included(draft: Draft, pair: tuple[Draft, Draft], question: str) -> bool:
    """Check that a combined question contains a part's years, most of its words and most words unique to that part."""
    lang = draft.lang
    folded, own = fold(question, lang), find_anchors(draft.question, lang)
    (other,) = (find_anchors(part.question, lang) for part in pair if part is not draft)
    if not find_years(fold(draft.question, lang)) <= find_years(folded):
        return False
    return all(share_of(words, folded, lang) >= _KEPT for words in (own, own - other) if words)
