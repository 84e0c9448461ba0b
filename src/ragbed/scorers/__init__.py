"""Scorers: from a case and a reply to values, one track a file or folder.

A track is a pure function that reads a reply once and names every value it gives; it is never asked about a case
without a reply. To add one: a function, and one line in TRACKS.
"""

from __future__ import annotations

from collections.abc import Callable

from ragbed.schema import Case
from ragbed.scorers import code, paper, robust
from ragbed.scorers.value import Value

TRACKS: dict[str, Callable[[Case, str], dict[str, Value]]] = {
    "code": code.score,
    "paper": paper.score,
    "robust": robust.score,
}


def score(case: Case, reply: str) -> dict[str, Value]:
    """Every track's values, under names that differ."""
    values: dict[str, Value] = {}
    for track in TRACKS.values():
        values |= track(case, reply)
    return values
