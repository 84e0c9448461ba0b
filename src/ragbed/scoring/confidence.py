"""Score a response's confidence, taken from log-probabilities, agreement between repeats or the response itself.

These values do not depend on the scorer. If the confidence of a response is unknown, the reason is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from ragbed.schema import Case, Completion
from ragbed.scoring.value import Value
from ragbed.testbeds.prompts.stated_confidence import parse_confidence
from ragbed.testbeds.prompts.strategies import MARK, STATED
from ragbed.text import to_terms


def score_confidence(case: Case, completion: Completion, *, refused: bool) -> dict[str, Value]:
    """Return an answer's confidence scores, or an empty dict if the model refused or no confidence was requested."""
    found: float | str | None = completion.confidence
    if case.profile.endswith(MARK + STATED) and completion.outcome == "ok" and completion.steps:
        found = parse_confidence(completion.steps[-1].reply or "")
    return {} if refused or found is None else confidence_scores(found)


def confidence_scores(found: float | str) -> dict[str, Value]:
    """Return the scores for a confidence value, or for the reason why the value is missing."""
    if isinstance(found, str) or not 0 <= found <= 1:
        return {"no_confidence": True, "confidence_problem": found if isinstance(found, str) else "out-of-range"}
    return {"no_confidence": False, "confidence": float(found)}


def add_agreement(completions: Sequence[Completion]) -> list[Completion]:
    """Return copies of a case's responses in which the confidence is the agreement with the other responses."""
    answered = [completion.reply or "" for completion in completions if completion.outcome == "ok"]
    shares = iter(measure_agreement(answered) if answered[1:] else [])
    return [
        structs.replace(
            completion, confidence=next(shares, "one-response") if completion.outcome == "ok" else "one-response"
        )
        for completion in completions
    ]


def measure_agreement(replies: Sequence[str]) -> list[float | str]:
    """Return, for each response, the share of the other responses that give the same answer.

    Two answers are the same if they consist of the same words, or if one contains all words of the other consecutively.
    A response without words has the problem code `no-words` instead of a share, and is the same as no other response.
    """
    texts = [f" {' '.join(to_terms(reply))} " for reply in replies]
    others = len(texts) - 1
    return [
        sum(text in other or other in text for place, other in enumerate(texts) if place != number) / others
        if text.strip()
        else "no-words"
        for number, text in enumerate(texts)
    ]
