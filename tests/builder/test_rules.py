"""The generator by rules: what it asks, and what it leaves alone."""

from __future__ import annotations

import pytest

from ragbed.builder.rules import WRITERS, join_questions, write_fields
from ragbed.schema import Article, Lang


def facts(lang: Lang, text: str, title: str = "") -> dict[str, str]:
    return {fact.question: fact.answer for fact in WRITERS[lang](title, text)}


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("The Alder Tower was opened in 1931. The tower is 88 metres high.", "How high is the Alder Tower?",
         "88 metres"),
        ("The Alder Tower was opened in 1931.", "In what year was the Alder Tower opened?", "1931"),
        ("The Alder Tower was designed by Mia Holt.", "By whom was the Alder Tower designed?", "Mia Holt"),
        ("Orland Foods was founded in 1988 and is based in Wick.", "Where is Orland Foods based?", "Wick"),
        ("“We never thought it would be finished in time,” said Mia Holt.",
         "Who said “We never thought it would be finished in time”?", "Mia Holt"),
        ("The abbreviation GRN stands for goods received note.", "What does the abbreviation GRN stand for?",
         "goods received note"),
    ],
)  # fmt: skip
def test_english_facts(text: str, question: str, answer: str) -> None:
    assert facts("en", text)[question] == answer


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("云岭大桥于2020年5月1日通车。大桥全长1200米。", "云岭大桥全长多少米？", "1200米"),
        ("云岭大桥于2020年5月1日通车。", "云岭大桥于哪一天通车？", "2020年5月1日"),
        ("云岭大桥由建筑师沈知秋设计。", "云岭大桥由谁设计？", "沈知秋"),
        ("云岭公司成立于1958年，总部位于安州市。", "云岭公司总部位于哪里？", "安州市"),
        ("“这座桥改变了我们的生活，”沈知秋说。", "谁说过“这座桥改变了我们的生活”？", "沈知秋"),
    ],
)
def test_chinese_facts(text: str, question: str, answer: str) -> None:
    assert facts("zh", text)[question] == answer


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "The Alder Tower will be opened in 2031."),
        ("en", "The Alder Tower may have been opened in 1931."),
        ("en", "The tower was opened in 1931."),
        ("en", "It was designed by Mia Holt."),
        ("en", "The Alder Tower was opened in 1931 and 1950."),
        ("zh", "云岭大桥预计于2030年5月1日通车。"),
        ("zh", "大桥全长1200米。"),
        ("zh", "该桥由沈知秋设计。"),
    ],
)
def test_plans_guesses_and_unknown_subjects_are_left_alone(lang: Lang, text: str) -> None:
    assert facts(lang, text) == {}


def test_fields_are_bounded_and_not_repeated() -> None:
    text = "The Alder Tower was opened in 1931. The Alder Tower was opened in 1931. The tower is 88 metres high."
    article = Article(id="a", url="a.md", title="", text=text, lang="en", sha256="", source="docs")
    assert len(write_fields(article, 20)) == 2
    assert len(write_fields(article, 1)) == 1


def test_two_questions_become_one() -> None:
    assert join_questions("How long is A?", "How long is B?", "en") == "How long is A, and how long is B?"
    assert join_questions("甲桥全长多少米？", "乙桥全长多少米？", "zh") == "甲桥全长多少米，以及乙桥全长多少米？"
