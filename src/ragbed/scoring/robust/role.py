"""The role of a mention, and how the year of its clause decides it."""

from __future__ import annotations

import re
from typing import NamedTuple

from ragbed.scoring.robust.question import Asked

DIRECT = 3  # the strength of an answer at the start of a response without a sentence around it

_YEAR = re.compile(r"(?<![0-9])(?:1[5-9]|20)[0-9]{2}(?![0-9])")
_BIRTH = re.compile(r"\bborn\b|\bsince\b|\baged?\b|\( ?\0|出生|生于|自从|以来")


class Role(NamedTuple):
    """The role of a mention.

    Attributes:
        status: What the mention is if it is not the answer, or nothing.
        weak: Whether the status counts only if the response has another candidate.
        strength: How clearly the clause expresses the asked relation: 0, 1, 2, or `DIRECT`.
    """

    status: str
    weak: bool
    strength: int


def year_role(asked: Asked, clause: str, text: str, strength: int) -> Role | None:
    """Return the role that the years of a clause imply: the asked year supports a mention, another one opposes it."""
    if len(asked.years) != 1:
        return None
    years = set(_YEAR.findall(clause))
    if not years:
        return None
    if years & asked.years:
        others = set(_YEAR.findall(text)) - asked.years
        return Role("", weak=True, strength=2) if others else None
    if _BIRTH.search(clause):
        return None
    is_contrasted = bool(asked.years & set(_YEAR.findall(text)))
    if strength >= 2 or is_contrasted:
        return Role("other-year", weak=not (is_contrasted or strength >= 2), strength=0)
    return None
