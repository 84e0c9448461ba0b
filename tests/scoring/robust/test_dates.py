"""Complete and partial dates."""

from __future__ import annotations

import pytest

from ragbed.scoring.robust.dates import Date, find_dates
from ragbed.scoring.robust.patterns import terms_of

Parts = tuple[int | None, int | None, int | None]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("9 november 1989", [(1989, 11, 9)]),
        ("nov. 9, 1989", [(1989, 11, 9)]),
        ("the 22nd of july", [(None, 7, 22)]),
        ("may thirtieth, two thousand seventeen", [(2017, 5, 30)]),
        ("the ninth of november nineteen eighty-nine", [(1989, 11, 9)]),
        ("july 2020", [(2020, 7, None)]),
        ("2020-07-22", [(2020, 7, 22)]),
        ("25/07/2020", [(2020, 7, 25)]),
        ("2017年5月30日", [(2017, 5, 30)]),
        ("二〇一七年五月三十日", [(2017, 5, 30)]),
        ("5月30号", [(None, 5, 30)]),
        ("1989年", [(1989, None, None)]),
        ("19日", [(None, None, 19)]),
        ("03/2007", [(2007, 3, None)]),
        ("6/30/27", [(27, 6, 30)]),
        ("2023年的5月28日", [(2023, 5, 28)]),
        ("历时89年, 七八年, 昭和64年", []),
        ("三四年前, 20年", []),
        ("15月30日", []),
        ("10号线", []),
        ("40 may", []),
    ],
)
def test_dates_are_found(text: str, found: list[tuple[int | None, ...]]) -> None:
    assert [date[:3] for date in find_dates(text, terms_of(text))[0]] == found


def test_an_ambiguous_date_is_read_both_ways() -> None:
    assert {date[:3] for date in find_dates("3/4/2023", terms_of("3/4/2023"))[0]} == {(2023, 3, 4), (2023, 4, 3)}


def test_dates_are_masked_and_the_rest_keeps_its_position() -> None:
    _, rest = find_dates("on 3 may 2020 there were 3", terms_of("on 3 may 2020 there were 3"))
    assert rest.endswith(" there were 3")
    assert len(rest) == len("on 3 may 2020 there were 3")


@pytest.mark.parametrize(
    ("found", "wanted", "question", "matches"),
    [
        ((2023, 5, 18), (None, 5, 18), None, True),
        ((None, 5, None), (None, 5, 18), None, False),
        ((None, 11, 9), (1989, 11, 9), None, False),
        ((None, 11, 9), (1989, 11, 9), (1989, None, None), True),
        ((1998, 11, 9), (1989, 11, 9), (1989, None, None), False),
    ],
)
def test_a_date_must_be_as_precise_as_the_answer_and_agree(
    found: Parts, wanted: Parts, question: Parts | None, matches: bool
) -> None:
    known = None if question is None else Date(*question, start=0, end=0)
    assert Date(*found, start=0, end=0).matches(Date(*wanted, start=0, end=0), known) is matches
