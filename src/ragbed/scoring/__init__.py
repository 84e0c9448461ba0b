"""Scorers: from a case and a reply to values, one track a file or folder.

A track is a pure function that reads a reply once and names every value it gives; it is never asked about a case
without a reply. To add one: a function, and one line in TRACKS. Other packages bring such functions as entry points
`ragbed.scoring` (docs/plugins.md); they are asked only where a user names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from ragbed import plugins
from ragbed.errors import PluginFailed
from ragbed.plugins import find_part
from ragbed.schema import Case
from ragbed.scoring import code, paper, robust
from ragbed.scoring.value import Value

Track: TypeAlias = Callable[[Case, str], dict[str, Value]]

TRACKS: dict[str, Track] = {
    "code": code.score,
    "paper": paper.score,
    "robust": robust.score,
}


def score_and_explain(case: Case, reply: str) -> tuple[dict[str, Value], list[robust.VerdictEvidence]]:
    """Every track's values, and the grounds of the robust one's."""
    own, findings = robust.score_and_explain(case, reply)
    values: dict[str, Value] = {}
    for name, track in TRACKS.items():
        values |= own if name == "robust" else track(case, reply)
    return values, findings


def score(case: Case, reply: str) -> dict[str, Value]:
    """The values of all our tracks, under names that differ."""
    values: dict[str, Value] = {}
    for track in TRACKS.values():
        values |= track(case, reply)
    return values


def open_tracks(names: Iterable[str]) -> Track:
    """What gives the values of all our tracks and of those named.

    Raises:
        UnknownName: Nobody has such a track.
    """
    others = {name: find_part(plugins.SCORERS, name, TRACKS) for name in names if name not in TRACKS}

    def score_all(case: Case, reply: str) -> dict[str, Value]:
        values = score(case, reply)
        for name, track in others.items():
            values |= _ask(name, track, case, reply)
        return values

    return score_all if others else score


def _ask(name: str, track: Track, case: Case, reply: str) -> dict[str, Value]:
    """A plug-in's values, which bear its name, so that they never pass for ours."""
    try:
        return {f"{name}.{score}": value for score, value in track(case, reply).items()}
    except Exception as error:  # whatever a stranger's code raises
        raise PluginFailed(f"track {name!r} fails on {case.case}: {type(error).__name__}: {error}") from error
