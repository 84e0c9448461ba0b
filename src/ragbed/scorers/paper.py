"""The paper's own definitions (R34, R35, R37): containment of the answer, and of the mandated sentences."""

from __future__ import annotations

from ragbed.prompts import FLAG, REFUSAL
from ragbed.schema import Case


def correct(case: Case, reply: str) -> bool:
    """Whether the reply contains an exact match to every part of the answer."""
    return all(any(alias in reply for alias in aliases) for aliases in case.answer)


def refused(case: Case, reply: str) -> bool:
    """Whether the reply contains the refusal sentence of the instruction."""
    return REFUSAL[case.lang] in reply


def flagged(case: Case, reply: str) -> bool:
    """Whether the reply contains the error sentence of the instruction."""
    return FLAG[case.lang] in reply
