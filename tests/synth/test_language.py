"""Numbers, money and dates in English and Chinese."""

from __future__ import annotations

from datetime import date

import pytest

from ragbed.synth.language import LANGUAGES
from ragbed.text import numeral


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (7, "七"),
        (10, "十"),
        (15, "十五"),
        (20, "二十"),
        (105, "一百零五"),
        (110, "一百一十"),
        (2000, "二千"),
        (12_400, "一万二千四百"),
        (20_071, "二万零七十一"),
        (100_005, "十万零五"),
        (44_000_000, "四千四百万"),
        (130_000_000, "一亿三千万"),
        (802_000_000, "八亿零二百万"),
    ],
)
def test_chinese_numerals(number: int, words: str) -> None:
    assert numeral(number) == words


def test_chinese_forms_of_one_value() -> None:
    rules = LANGUAGES["zh"]
    assert rules.number_forms("12400", "名观众") == ("12400名观众", "1.24万名观众", "一万二千四百名观众")
    assert rules.number_forms("20000", "人") == ("20000人", "2万人", "两万人")
    assert rules.money_forms(44_000_000, "克朗") == ("4400万克朗", "四千四百万克朗")
    assert rules.percent_forms("61.4") == ("61.4%", "百分之六十一点四")
    assert rules.date_forms(date(2021, 3, 14)) == ("2021年3月14日", "3月14日", "三月十四日")
    assert rules.join_questions(["谁赢了？", "在哪里？"]) == "谁赢了，以及在哪里？"


def test_english_forms_of_one_value() -> None:
    rules = LANGUAGES["en"]
    assert rules.number_forms("12400", "people") == ("12,400 people",)
    assert rules.with_variants(("12,400 people",)) == ("12,400 people", "12400 people")
    assert rules.money_forms(44_000_000, "crowns") == ("44 million crowns", "44m crowns")
    assert rules.money_forms(1_250_000_000, "marks") == ("1.25 billion marks", "1.25bn marks")
    assert rules.money_forms(650_000, "florins") == ("650,000 florins", "650k florins")
    assert rules.date_forms(date(2021, 3, 4)) == ("4 March 2021", "March 4, 2021", "4 March", "March 4")
    assert rules.name_aliases("the Lantern Park, Harrowford") == ("Lantern Park, Harrowford", "Lantern Park")
    assert rules.join_questions(["Who won?", "Where was it?", "When?"]) == "Who won, where was it, and when?"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("it rained", "It rained."),
        ('"yes," she said', '"Yes," she said.'),
        ("was it?", "Was it?"),
        ('he called it "late"', 'He called it "late".'),
    ],
)
def test_english_sentences_have_a_capital_and_a_full_stop(words: str, sentence: str) -> None:
    assert LANGUAGES["en"].sentence(words) == sentence
