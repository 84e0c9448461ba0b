"""The type of what the rules find."""

from __future__ import annotations

from typing import NamedTuple


class Fact(NamedTuple):
    """A question with its answer, and the sentence that states it."""

    question: str
    answer: str
    sentence: str
