"""Citation marks are found, removed and read in both languages."""

from __future__ import annotations

import pytest

from ragbed.testbeds.prompts.citation_marks import CitedSentence, parse_citations, strip_citations


@pytest.mark.parametrize(
    ("mark", "numbers"),
    [
        ("[1]", (1,)),
        ("[2][3]", (2, 3)),
        ("[1, 3]", (1, 3)),
        ("[1-3]", (1, 2, 3)),
        ("[2–4]", (2, 3, 4)),
        ("[１－３]", (1, 2, 3)),
        ("[1～2]", (1, 2)),
        ("[第2篇]", (2,)),
        ("【文档第1篇至第3篇】", (1, 2, 3)),
        ("[#2]", (2,)),
        ("[^2]", (2,)),
        ("[１]", (1,)),
        ("［2］", (2,)),
        ("【2】", (2,)),
        ("[doc 4]", (4,)),
        ("[Document 4]", (4,)),
        ("[Documents 1 and 2]", (1, 2)),
        ("[文档3]", (3,)),
        ("[1、2]", (1, 2)),
        ("[ 5 ]", (5,)),
        ("(3)", (3,)),
        ("（3）", (3,)),
        ("(doc 3)", (3,)),
        ("[0]", (0,)),
        ("[99]", (99,)),
        ("[1-900]", (1, 900)),
        ("[3-1]", (3, 1)),
    ],
)
def test_every_documented_form_of_a_citation_is_read(mark: str, numbers: tuple[int, ...]) -> None:
    assert parse_citations(f"Ann won the race {mark}.") == [CitedSentence("Ann won the race.", numbers)]
    assert strip_citations(f"Ann won the race {mark}.") == "Ann won the race."
    assert parse_citations(f"安妮赢得了比赛{mark}。") == [CitedSentence("安妮赢得了比赛。", numbers)]


@pytest.mark.parametrize("text", ["Ann won in 2020 [sic].", "1) Ann won.", "(1) Ann won.", "f(3) is 9.", "[a]", ""])
def test_other_brackets_are_not_citations(text: str) -> None:
    assert not any(sentence.numbers for sentence in parse_citations(text))
    assert strip_citations(text) == text


def test_a_mark_after_the_full_stop_belongs_to_the_sentence_before_it() -> None:
    assert parse_citations("Ann won. [1] Bob lost.[2][3] Carl left.") == [
        CitedSentence("Ann won.", (1,)),
        CitedSentence("Bob lost.", (2, 3)),
        CitedSentence("Carl left.", ()),
    ]
    assert parse_citations("安妮获胜。[1]鲍勃落败。[2]") == [
        CitedSentence("安妮获胜。", (1,)),
        CitedSentence("鲍勃落败。", (2,)),
    ]


def test_round_brackets_are_citations_only_without_square_ones() -> None:
    assert parse_citations("Ann (3), of the club, won [1].") == [CitedSentence("Ann (3), of the club, won.", (1,))]


def test_a_long_response_is_read_in_linear_time() -> None:
    assert len(parse_citations("Ann won [1]. " * 20_000)) == 20_000
    assert parse_citations("[1" * 300_000 + "[" * 300_000)[0].numbers == ()
