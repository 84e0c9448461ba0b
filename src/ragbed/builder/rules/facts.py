"""The data type for facts found by the rules."""

from __future__ import annotations

from typing import NamedTuple


class Fact(NamedTuple):
    """A question with its answer, and the sentence that states the answer."""

    question: str
    answer: str
    sentence: str
