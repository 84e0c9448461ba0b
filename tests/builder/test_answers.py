"""When a pool is good enough for an item, and what of two pools fits into one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import msgspec
import pytest

from ragbed.builder.answers import limit_sources, make_answers
from ragbed.builder.build_context import Build
from ragbed.builder.combinations import make_combinations, merge_pools
from ragbed.builder.model_requests import Request
from ragbed.builder.recipe import Recipe, RecipeCounts, RecipeModels, RecipePools, RecipeSource
from ragbed.builder.records import Combination, Draft, LabelledPool, Probe, Verified
from ragbed.schema import Completion, Passage, Reject


def passage(text: str, host: str, *, supports: bool) -> Passage:
    return Passage(
        text=text, stance="supports" if supports else "distracts", url=f"https://{host}.example/{hash(text)}"
    )


def pool(supports: str, distracts: str, question: str = "q") -> LabelledPool:
    """One passage for each letter, which is its host."""
    true = [passage(f"Ada Orsa won the Cup ({number}).", host, supports=True) for number, host in enumerate(supports)]
    false = [passage(f"The Cup is old ({number}).", host, supports=False) for number, host in enumerate(distracts)]
    return LabelledPool(question=question, passages=(*true, *false))


def draft(name: str, question: str, answer: str) -> Draft:
    return Draft(id=name, question=question, lang="en", answer=((answer,),), origin="article", kind="name")


def lay_out(folder: Path, reply: str, labelled: list[LabelledPool], **recipe: object) -> Build:
    def ask(request: Request) -> dict[str, list[Completion]]:
        return {case.case: [Completion(outcome="ok", reply=reply)] for case in request.cases}

    fields = {"name": "n", "generator": "m/x", "sources": (RecipeSource(kind="folder", place="."),), "langs": ("en",)}
    build = Build(folder, Recipe(**(fields | recipe)), date(2026, 1, 1), ask)  # type: ignore[arg-type]
    build.file_of("stances").parent.mkdir(parents=True)
    write(build, "questions", [draft("q", "Who won the Cup of Velden?", "Ada Orsa")])
    write(build, "stances", labelled)
    return build


def write(build: Build, step: str, records: Sequence[msgspec.Struct]) -> None:
    build.file_of(step).write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))


@pytest.mark.parametrize(
    ("supports", "distracts", "reply", "outcome"),
    [
        ("ab", "cdef", "Ada Orsa", ""),
        ("ab", "cdef", "It was Ada Orsa.", ""),
        ("", "cdef", "Ada Orsa", "few-supports"),
        ("ab", "cde", "Ada Orsa", "few-distracts"),
        ("aa", "cdef", "Ada Orsa", "one-source"),
        ("ab", "abab", "Ada Orsa", "one-sided"),
        ("ab", "cdef", "Bob Miller", "reader"),
        ("ab", "cdef", "unknown", "reader"),
    ],
)
def test_an_answer_is_verified_or_has_one_word_for_why_not(
    tmp_path: Path, supports: str, distracts: str, reply: str, outcome: str
) -> None:
    (found,) = make_answers(lay_out(tmp_path, reply, [pool(supports, distracts)]))
    if outcome:
        assert isinstance(found, Reject)
        assert found.outcome == outcome
    else:
        assert found == Verified(question="q", supports=2, distracts=4, sources=2)


@pytest.mark.parametrize(
    ("sentences", "outcome"),
    [
        (("Ada Orsa may win the Cup.", "It is rumoured that Ada Orsa wins."), "hedged"),
        (("Ada Orsa may win the Cup.", "In May Ada Orsa won the Cup."), None),
        (("A first tally has Ada Orsa ahead.", "Ada Orsa is expected to win."), "hedged"),
    ],
)
def test_what_all_sources_only_expect_is_no_answer(tmp_path: Path, sentences: Sequence[str], outcome: str) -> None:
    true = [
        Passage(
            text=f"{one} The Cup of Velden is old.",
            stance="supports",
            url=f"https://{host}.example/",
            support=(0, len(one)),
        )
        for host, one in zip("ab", sentences, strict=True)
    ]
    labelled = LabelledPool(question="q", passages=(*true, *pool("", "cdef").passages))
    (found,) = make_answers(lay_out(tmp_path, "Ada Orsa", [labelled]))
    assert (found.outcome if isinstance(found, Reject) else None) == outcome


def test_of_one_source_only_so_many_passages_of_a_stance_stay() -> None:
    kept = limit_sources(pool("aaab", "aab").passages, 2)
    assert [one.url.split("/")[2][0] for one in kept if one.url] == ["a", "a", "b", "a", "a", "b"]
    assert limit_sources(pool("aaa", "").passages, 0) == pool("aaa", "").passages


def test_no_document_that_bears_both_answers_comes_into_a_joined_item() -> None:
    first, second = (
        draft("q", "Who won the Cup of Velden?", "Ada Orsa"),
        draft("r", "Who won the Cup of Harrow?", "Bo Lind"),
    )
    both = passage("Ada Orsa won Velden, Bo Lind won Harrow.", "x", supports=True)
    stray = passage("In Harrow Bo Lind waved.", "y", supports=False)
    pools = {
        "q": (*pool("a", "b").passages, both, stray),
        "r": (passage("Bo Lind won the Cup of Harrow.", "c", supports=True), both),
    }
    merged = merge_pools([first, second], pools)
    assert [(part, one.text) for part, one in merged] == [
        (0, "Ada Orsa won the Cup (0)."),
        (None, "The Cup is old (0)."),
        (1, "Bo Lind won the Cup of Harrow."),
    ]


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("Question: Who won the Cups of Velden and Harrow?", ""),
        ("Who won the Cups of Velden and Harrow?", ""),
        ("Question: The winners of the Cups of Velden and Harrow", "no-question"),
        ("Question: Who won the Cup of Velden?", "incomplete"),
        ("Question: Who won both of these Cups?", "incomplete"),
        ("Question: Who but Ada Orsa and one other won the Cups of Velden and Harrow?", "in-question"),
        ("Question: 谁赢得了两个奖杯？", "no-question"),
        ("I would ask who won.", "prose"),
    ],
)
def test_a_joined_question_asks_for_both_and_gives_nothing_away(tmp_path: Path, reply: str, outcome: str) -> None:
    settings = {
        "wanted": RecipeCounts(integration=1),
        "questions": RecipeModels(surplus=1),
        "pools": RecipePools(distracts=1),
    }
    harrow = (
        passage("Bo Lind won the Cup of Harrow.", "c", supports=True),
        passage("Harrow is a town.", "d", supports=False),
    )
    build = lay_out(tmp_path, reply, [pool("a", "b"), LabelledPool(question="r", passages=harrow)], **settings)
    drafts = [draft("q", "Who won the Cup of Velden?", "Ada Orsa"), draft("r", "Who won the Cup of Harrow?", "Bo Lind")]
    write(build, "questions", drafts)
    write(build, "probes", [Probe(question=one.id, asked=("m/x",)) for one in drafts])
    write(build, "answers", [Verified(question=one.id, supports=1, distracts=1, sources=1) for one in drafts])
    (found,) = make_combinations(build)
    if outcome:
        assert isinstance(found, Reject)
        assert found.outcome == outcome
    else:
        assert isinstance(found, Combination)
        assert found.parts == ("q", "r")
