"""What rules reject in a generated question, each with one reason, and what they let pass."""

from __future__ import annotations

import pytest

from ragbed.builder.build_context import Draft
from ragbed.builder.question_rules import locate_quote
from ragbed.builder.questions import draft_question
from tests.builder.steps import article

EN = article(
    "a",
    "Staff at Norrland Instruments have 27 days of leave. Up to 12 percent of a salary may be paid in advance. "
    "The office manager, Ada Lund, assigns desks to new staff on Monday.",
    "Annual leave at Norrland Instruments",
)
ZH = article("z", "北辰仪器的员工每年有27天年假，学徒30天。行政主管沈知远负责分配工位。", "年休假规定", "zh")
LEAVE = {
    "sentence": "Staff at Norrland Instruments have 27 days of leave.",
    "answer": "27 days",
    "question": "How many days of leave do staff at Norrland Instruments have?",
}
LEAVE_ZH = {
    "sentence": "北辰仪器的员工每年有27天年假，学徒30天。",
    "answer": "27天",
    "question": "北辰仪器的员工每年有多少天年假？",
}


def outcome(block: dict[str, str], lang: str = "en") -> str:
    source = EN if lang == "en" else ZH
    found = draft_question(block, source, (0, len(source.text)), source.title)
    return "" if isinstance(found, Draft) else found[0]


@pytest.mark.parametrize(
    ("changes", "rejected"),
    [
        ({}, ""),
        ({"answer": "27"}, ""),
        ({"sentence": "staff at Norrland Instruments have 27 days of leave"}, ""),  # a slip in the quotation
        ({"question": "When can I take leave"}, "no-question"),
        ({"answer": ""}, "no-answer"),
        ({"answer": "none"}, "no-answer"),
        ({"question": "诺兰仪器的员工有多少天年假？"}, "language"),
        ({"question": "Do staff at Norrland Instruments have 27 days?"}, "yes-no"),
        ({"answer": "27 days of leave a year, which is more than most other companies give"}, "long-answer"),
        ({"question": "Do the 27 days at Norrland include Sundays, or how many do?"}, "yes-no"),
        ({"question": "What are the 27 days at Norrland Instruments for?"}, "in-question"),
        ({"question": "How many days of leave do staff have?"}, "vague"),
        ({"question": "How many days does the text give to Norrland?"}, "vague"),
        ({"question": "How many days of leave does the company have?"}, "vague"),
        ({"sentence": "Staff get a lot of free time at this company."}, "not-in-text"),
        ({"sentence": "The office manager, Ada Lund, assigns desks to new staff on Monday."}, "not-in-sentence"),
        ({"sentence": "", "answer": "27 days"}, "not-in-text"),
        (
            {
                "sentence": "The office manager, Ada Lund, assigns desks to new staff on Monday.",
                "answer": "Ada Lund",
                "question": "Who is Lund, the office manager Ada of Norrland?",
            },
            "in-question",
        ),
    ],
)
def test_an_english_question_passes_or_has_one_reason(changes: dict[str, str], rejected: str) -> None:
    assert outcome(LEAVE | changes) == rejected


@pytest.mark.parametrize(
    ("changes", "rejected"),
    [
        ({}, ""),
        ({"question": "该公司的员工每年有多少天年假？"}, "vague"),
        ({"question": "北辰仪器是否有27天年假？"}, "yes-no"),
        ({"sentence": "学徒每年有30天年假。", "answer": "30天", "question": "北辰仪器的学徒有多少天年假？"}, ""),
        ({"question": "北辰仪器的27天年假给谁？"}, "in-question"),
        ({"sentence": "行政主管沈知远负责分配工位。"}, "not-in-sentence"),
    ],
)
def test_a_chinese_question_passes_or_has_one_reason(changes: dict[str, str], rejected: str) -> None:
    assert outcome(LEAVE_ZH | changes, "zh") == rejected


def test_the_answer_is_taken_as_the_sentence_writes_it() -> None:
    block = {
        "sentence": "Up to 12 percent of a salary may be paid in advance.",
        "answer": "12%",
        "question": "What share of a salary can Norrland Instruments pay in advance?",
    }
    found = draft_question(block, EN, (0, len(EN.text)), EN.title)
    assert isinstance(found, Draft)
    assert found.answer == (("12 percent", "12%"),)


@pytest.mark.parametrize("quote", ["x", "", "Staff", "\ud800", "。" * 99])
def test_odd_quotations_are_not_found_or_found_somewhere(quote: str) -> None:
    place = locate_quote(EN.text, quote)
    assert place is None or quote.lower() in EN.text[slice(*place)].lower()
