"""The baseline without a model."""

from __future__ import annotations

import pytest

from ragbed.models.lexical import answer_lexically


@pytest.mark.parametrize(
    ("question", "documents", "sentence"),
    [
        (
            "Who won the 2021 cup?",
            ["Rovers won the 2020 cup. It rained.", "The 2021 cup was won by United. Nobody cheered."],
            "The 2021 cup was won by United.",
        ),
        (
            "2021年灯塔杯的冠军是谁？",
            ["2020年灯塔杯由长河队夺冠。下雨了。", "2021年灯塔杯的冠军是山鹰队！没有人欢呼。"],
            "2021年灯塔杯的冠军是山鹰队！",
        ),
        ("Who?", ["It cost 3.5 million. Then it rained."], "It cost 3.5 million."),
        ("Who?", [], ""),
        ("Who?", [" \n "], ""),
    ],
)
def test_the_most_similar_sentence_is_the_answer(question: str, documents: list[str], sentence: str) -> None:
    assert answer_lexically(question, documents) == sentence


def test_of_two_equal_sentences_the_earlier_one_wins() -> None:
    assert answer_lexically("red", ["Red one. Red two.", "Red three."]) == "Red one."
