"""Numbers in words."""

from __future__ import annotations

import pytest

from ragbed.scoring.robust.numerals import CHINESE, ENGLISH, chinese_value, english_value, year_in_words


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("seventy", 70),
        ("forty-four billion", 44 * 10**9),
        ("one point five million", 1_500_000),
        ("a hundred and five", 105),
        ("thirty-two thousand and twenty", 32_020),
        ("eight million six hundred thousand", 8_600_000),
        ("five six", None),
        ("twenty fifteen", None),
    ],
)
def test_english_words_are_read(words: str, value: int | None) -> None:
    assert ENGLISH.fullmatch(words)
    assert english_value(words) == value


@pytest.mark.parametrize(
    ("numerals", "value"),
    [
        ("十", 10),
        ("十二", 12),
        ("二〇二三", 2023),
        ("两百五", 250),
        ("一百零五", 105),
        ("三万五", 35_000),
        ("三万九千七百三十", 39_730),
        ("九千零三十二", 9_032),
        ("六十一亿三千万", 6_130_000_000),
        ("一万亿", 10**12),
        ("三点五亿", 350_000_000),
        ("440亿", 44_000_000_000),
        ("3.973万", 39_730),
        ("1亿3000万", 130_000_000),
        ("58万9千四百", 589_400),
        ("4万三千一百六十", 43_160),
    ],
)
def test_chinese_numerals_are_read(numerals: str, value: int) -> None:
    assert CHINESE.fullmatch(numerals)
    assert chinese_value(numerals) == value


@pytest.mark.parametrize(
    ("words", "year"), [("nineteen eighty-nine", 1989), ("twenty twenty-three", 2023), ("twenty three", None)]
)
def test_years_can_be_two_numbers(words: str, year: int | None) -> None:
    assert year_in_words(words) == year
