"""What is only expected, in questions and in what is told."""

from __future__ import annotations

import pytest

from ragbed.builder.topic_terms import asks_for_a_guess, is_hedged
from ragbed.schema import Lang


@pytest.mark.parametrize(
    ("lang", "sentence", "answer", "hedged"),
    [
        ("en", "Ada Orsa may win the Cup.", "Ada Orsa", True),
        ("en", "In May Ada Orsa won the Cup.", "Ada Orsa", False),
        ("en", "Ada Orsa won the Cup, and the sport may have a new ruler.", "Ada Orsa", False),
        ("en", "Ada Orsa won in 2:14:05, faster than expected.", "2:14:05", False),
        ("en", "A first tally of the sales came to 267,400 units.", "267,400", True),
        ("en", "The union expects, after a slow year, 400 jobs to go.", "400", True),
        ("en", "The provisional government met in Cork.", "Cork", False),
        ("zh", "工会预计，公司会列出两万名职工。", "两万", True),
        ("zh", "尽可能减少噪音的新桥由沈知远设计。", "沈知远", False),
        ("zh", "沈知远设计了新桥，下一座可能由别人设计。", "沈知远", False),
        ("zh", "开场时的估算称，现场人数为4830人。", "4830", True),
    ],
)
def test_a_guess_is_told_before_the_answer_or_in_its_clause(
    lang: Lang, sentence: str, answer: str, hedged: bool
) -> None:
    assert is_hedged(sentence, sentence.index(answer) + len(answer), lang) is hedged


@pytest.mark.parametrize(
    ("lang", "question", "guess"),
    [
        ("en", "Who may win the Orsa Cup?", True),
        ("en", "Who headed the provisional government of Ireland?", False),
        ("zh", "高盛预计有多少个岗位将被取代？", True),
        ("zh", "国家地震预测研究所的所长是谁？", False),
        ("zh", "谁提出了“尽可能简单”的原则？", False),
    ],
)
def test_a_question_about_what_may_come_is_told_from_names(lang: Lang, question: str, guess: bool) -> None:
    assert asks_for_a_guess(question, lang) is guess
