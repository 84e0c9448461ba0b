"""Responses that are easily misread: fractions, yes/no openings, percentages and phrases with gaps."""

from __future__ import annotations

import time

import pytest

from ragbed.schema import Lang
from ragbed.scoring.robust import score
from tests.scoring.robust.cases import make_case


@pytest.mark.parametrize(
    ("question", "gold", "reply", "lang"),
    [
        ("Does the plan include a park?", "yes", "There is insufficient information in the documents.", "en"),
        ("Does the plan include a park?", "yes", "It is unclear from the documents.", "en"),
        ("Does the plan include a park?", "yes", "That is false.", "en"),
        ("Does the plan include a park?", "no", "It is not stated in the documents.", "en"),
        ("规划包括公园吗？", "是", "当然不是。", "zh"),
        ("规划包括公园吗？", "否", "不能确定。", "zh"),
        ("What share of members agreed?", "50%", "It was 0.5%.", "en"),
        ("What share was repaid?", "100%", "1% of members agreed.", "en"),
        ("What was the verdict?", "not guilty verdict", "The jury returned a guilty verdict.", "en"),
        ("What did the study find?", "no significant changes", "The study found significant changes.", "en"),
        ("他们决定了什么？", "同意参加本次会议", "他们同意不参加本次会议。", "zh"),
        ("Who won the match?", "John Smith", "John defeated Smith.", "en"),
        ("On which day did it happen?", "Wednesday", "The couple wed on Thursday.", "en"),
        ("How many people live there?", "1,482,000", "Roughly 1.5 million.", "en"),
        ("When did they meet?", "3 May 1985", "They met in 1985 and married in 1986, on May 3.", "en"),
        ("Which sea is it?", "Red Sea", "The flag is red.", "en"),
        ("哪一年发现的？", "1974年", "过了七四一十年。", "zh"),
    ],
)
def test_a_wrong_answer_is_not_credited(question: str, gold: str, reply: str, lang: Lang) -> None:
    assert not score(make_case(question, [[gold]], None, lang), reply)["correct"]


@pytest.mark.parametrize(
    ("question", "gold", "reply", "lang"),
    [
        ("When did it happen?", "March '64", "It happened in March 1964.", "en"),
        ("Who won the match?", "John Smith", "John A. Smith won it.", "en"),
        ("Who was the president?", "Franklin D. Roosevelt", "Franklin Delano Roosevelt was the president.", "en"),
        ("Which tree has acorns?", "oak", "Oaks", "en"),
        ("Which theatre did they build?", "Globe Theatre", "They built the Globe Theater.", "en"),
        ("What is the square root of 144?", "12", "12. The key has a different number.", "en"),
    ],
)
def test_a_right_answer_is_credited(question: str, gold: str, reply: str, lang: Lang) -> None:
    assert score(make_case(question, [[gold]], None, lang), reply)["correct"]


@pytest.mark.parametrize("gold", ["3 hours", "9" * 5000 + "-2", "9" * 5000 + " km/h"])
def test_fractions_and_long_numbers_are_scored(gold: str) -> None:
    assert not score(make_case("How long?", [[gold]], None, "en"), "It lasted two, three and a half weeks.")["correct"]


def test_a_response_that_repeats_a_phrase_takes_little_time() -> None:
    case = make_case("Why?", [["aaaa aaaa aaaa aaaa aaaa aaaa aaaa bbbb"]], None, "en")
    other = make_case("Why?", [["alpha beta1 gamma delta kappa omega"]], None, "en")
    start = time.process_time()
    score(case, "aaaa " * 2000)
    score(other, "alpha beta gamma delta kappa " * 400)
    assert time.process_time() - start < 5
