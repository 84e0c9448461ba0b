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
        ("The Aldermoor Tower was opened in 1931. The tower is 88 metres high.", "How high is the Aldermoor Tower?",
         "88 metres"),
        ("The Aldermoor Tower was opened in 1931.", "In what year was the Aldermoor Tower opened?", "1931"),
        ("The Aldermoor Tower was designed by Mia Holt.", "By whom was the Aldermoor Tower designed?", "Mia Holt"),
        ("Orland Foods was founded in 1988 and is based in Wick.", "Where is Orland Foods based?", "Wick"),
        ("“Nobody believed that the Aldermoor Tower could be saved,” said Mia Holt. The Aldermoor Tower was closed.",
         "Who said “Nobody believed that the Aldermoor Tower could be saved”?", "Mia Holt"),
        ("The ferry company Norsund, which is based in Wick, has four ships.",
         "Where is the ferry company Norsund based?", "Wick"),
        ("The Copperhill mine was opened in 1843. It was closed on 30 April 1978.",
         "On what date was the Copperhill mine closed?", "30 April 1978"),
        ("Mia Holt was an engineer. She was born on 4 May 1861 in Wick.", "On what date was Mia Holt born?",
         "4 May 1861"),
        ("Amalia Thorne was a botanist. In 1890 she left school. Thorne died on 2 December 1952.",
         "On what date did Amalia Thorne die?", "2 December 1952"),
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
        (
            "云岭大桥由建筑师沈知秋设计。“云岭大桥改变了我们的生活，”沈知秋说。",
            "谁说过“云岭大桥改变了我们的生活”？",
            "沈知秋",
        ),
        ("苏婉清（1898—1976），植物学家。", "苏婉清出生于哪一年？", "1898年"),
        ("2023年10月12日，云岭大桥正式通车。", "云岭大桥于哪一天正式通车？", "2023年10月12日"),
        ("云岭公司成立于1958年，总经理为沈知秋。", "云岭公司的总经理是谁？", "沈知秋"),
    ],
)
def test_chinese_facts(text: str, question: str, answer: str) -> None:
    assert facts("zh", text)[question] == answer


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "The Aldermoor Tower will be opened in 2031."),
        ("en", "The Aldermoor Tower may have been opened in 1931."),
        ("en", "The tower was opened in 1931."),
        ("en", "It was designed by Mia Holt."),
        ("en", "The Aldermoor Tower was opened in 1931 and 1950."),
        ("en", "The Palm House was built in 1871."),  # the name does not say which one
        ("en", "The Boreas was built in 1991."),  # the kind of thing is not stated
        ("en", "“We kept half of the original planks for you,” said Mia Holt."),
        ("en", "The abbreviation GRN stands for goods received note."),
        ("en", "Holt was headed by Mia Holt."),
        ("en", "Mount Emberly erupted on 25 March 2023."),
        ("en", "The tower of Orsa Church, which was built in 1931, is closed."),
        ("en", "The Orsa Institute was founded by Mia Holt, Jan Orr and Lea Marsh."),
        ("zh", "培训中心建于2015年。"),
        ("zh", "炎岭火山于2023年3月25日喷发。"),
        ("zh", "“两年前我们差一点破产，”沈知秋说。"),
        ("zh", "云岭大桥预计于2030年5月1日通车。"),
        ("zh", "大桥全长1200米。"),
        ("zh", "该桥由沈知秋设计。"),
    ],
)
def test_plans_guesses_and_unknown_subjects_are_left_alone(lang: Lang, text: str) -> None:
    assert facts(lang, text) == {}


def test_fields_are_bounded_and_not_repeated() -> None:
    text = (
        "The Aldermoor Tower was opened in 1931. The Aldermoor Tower was opened in 1931. The tower is 88 metres high."
    )
    article = Article(id="a", url="a.md", title="", text=text, lang="en", sha256="", source="docs")
    assert len(write_fields(article, 20)) == 2
    assert len(write_fields(article, 1)) == 1


def test_two_questions_become_one() -> None:
    assert join_questions("How long is A?", "How long is B?", "en") == "How long is A, and how long is B?"
    assert join_questions("甲桥全长多少米？", "乙桥全长多少米？", "zh") == "甲桥全长多少米，以及乙桥全长多少米？"
