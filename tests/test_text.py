"""Numbers in words: what is written is read back as the same number."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbed.scoring.robust.numerals import chinese_value, english_value
from ragbed.text import counted, in_words, numeral, spoken


@pytest.mark.parametrize(
    ("number", "english", "chinese"),
    [
        (0, "zero", "零"),
        (12, "twelve", "十二"),
        (44, "forty-four", "四十四"),
        (305, "three hundred and five", "三百零五"),
        (12_400, "twelve thousand four hundred", "一万二千四百"),
        (44_000_000_000, "forty-four billion", "四百四十亿"),
    ],
)
def test_a_number_in_words(number: int, english: str, chinese: str) -> None:
    assert (in_words(number), numeral(number)) == (english, chinese)


@given(st.integers(0, 10**12))
def test_words_say_the_number_that_they_were_made_of(number: int) -> None:
    assert english_value(in_words(number)) == Decimal(number)
    assert chinese_value(numeral(number)) == chinese_value(spoken(number)) == Decimal(number)


@pytest.mark.parametrize(("number", "told"), [(0, "0 cases"), (1, "1 case"), (1500, "1,500 cases")])
def test_a_count_agrees_with_its_noun(number: int, told: str) -> None:
    assert counted(number, "case") == told
