"""Confidence of responses: agreement between repeats."""

from __future__ import annotations

from ragbed.schema import Completion
from ragbed.scoring.confidence import add_agreement


def _confidences(*replies: str | None) -> list[float | str | None]:
    completions = [
        Completion(outcome="error", error="timeout: x") if reply is None else Completion(outcome="ok", reply=reply)
        for reply in replies
    ]
    return [completion.confidence for completion in add_agreement(completions)]


def test_agreement_is_the_share_of_the_other_responses_with_the_same_answer() -> None:
    assert _confidences("Athens", "It is Athens.", "Rome") == [0.5, 0.5, 0.0]


def test_failed_calls_have_no_agreement_and_are_not_compared() -> None:
    assert _confidences("Athens", "Athens", None) == [1.0, 1.0, "one-response"]
    assert _confidences("Athens", None, None) == ["one-response"] * 3


def test_responses_without_words_have_no_agreement_and_are_the_same_as_no_other_response() -> None:
    assert _confidences("", " ", "...") == ["no-words"] * 3
    assert _confidences("Athens", "Athens", "", "!") == [1 / 3, 1 / 3, "no-words", "no-words"]
