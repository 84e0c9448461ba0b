"""Scorers: from a case and a reply to a value, one file per track.

A scorer is a pure function; it is never asked about a case without a reply. To add one: a function, and one line
in SCORERS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ragbed.schema import Case
from ragbed.scorers import code, paper

Scorer: TypeAlias = Callable[[Case, str], bool | tuple[int, ...]]

SCORERS: dict[str, Scorer] = {
    "code.label": code.label,
    "code.correct": code.correct,
    "code.refused": code.refused,
    "code.flagged": code.flagged,
    "paper.correct": paper.correct,
    "paper.refused": paper.refused,
    "paper.flagged": paper.flagged,
}


def score(case: Case, reply: str) -> dict[str, bool | tuple[int, ...]]:
    """Every scorer's value."""
    return {name: scorer(case, reply) for name, scorer in SCORERS.items()}
