"""The paper's two judged metrics: requests and parsing."""

from __future__ import annotations

import pytest

from ragbed.scoring import starred


def test_the_rejection_judge_sees_question_and_reply_after_four_demonstrations() -> None:
    request = starred.rej_star_request("Where is it?", "In {QUERY} Rome.")
    assert request.endswith("Question: Where is it?\nAnswer: In {QUERY} Rome.")  # placeholders in a response stay
    assert request.count("\nQuestion: ") == 5


def test_the_error_judge_sees_only_the_reply_under_another_label() -> None:
    request = starred.ed_star_request("In Rome.")
    assert request.count("\nResponse: ") == 5
    assert request.endswith("\n\nAnswer: In Rome.")


@pytest.mark.parametrize(
    ("judgement", "rejected"),
    [
        ("No, the question is not addressed by the documents.", True),
        ("Yes, the question is addressed by the documents.", False),
        ("It isn't addressed.", False),  # missed, like the original code
    ],
)
def test_a_rejection_is_read_by_its_phrase(judgement: str, rejected: bool) -> None:
    assert starred.read_rej_star(judgement) is rejected


@pytest.mark.parametrize(
    ("judgement", "detected"),
    [
        ("Yes, the model has identified the factual errors.", True),
        ("No, the model fails to identify the factual errors.", False),
        ("No. I would not say Yes here.", True),  # like the original code
        ("YES", False),
    ],
)
def test_detection_is_read_by_its_phrases(judgement: str, detected: bool) -> None:
    assert starred.read_ed_star(judgement) is detected


def test_prompts_have_different_hashes() -> None:
    assert starred.prompt_hash("rej_star.md") != starred.prompt_hash("ed_star.md")
