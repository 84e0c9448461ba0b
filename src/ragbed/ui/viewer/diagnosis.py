"""Why answers are wrong, as `ragbed diagnose` wrote it beside a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from ragbed.errors import MALFORMED_JSON
from ragbed.io.locations import open_regular

FOLDER = "diagnose"


class ShownEvidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why an error is of a type."""

    type: str
    what: str
    what_zh: str = ""
    """The same in Chinese; older files have it in English only."""
    document: int | None = None
    """Counted from 0; None where it is about the reply."""
    start: int | None = None
    end: int | None = None
    cue: str | None = None
    asked: str | None = None
    found: str | None = None
    """A qualifier of the question, and what stands in its place."""
    part: int | None = None
    bound_to: int | None = None
    """Sub-questions, counted from 0."""
    confirmed: bool | None = None
    """Whether asking again without the cause gave what was wanted."""


class Diagnosed(NamedTuple):
    """The types of error of one reply; an empty model means every model's reply to the case."""

    case: str
    model: str
    repeat: int
    types: tuple[str, ...]
    evidence: tuple[ShownEvidence, ...]


def stamp_of(run: Path) -> str:
    """Changes when the records do."""
    told = []
    for path in sorted((run / FOLDER).glob("*.jsonl")):
        stat = path.stat()
        told.append(f"{path.name} {stat.st_size} {stat.st_mtime_ns}")
    return "; ".join(told)


def read_diagnosed(run: Path) -> Iterator[Diagnosed]:
    """All records of a run that name a `case` and its `types`, and perhaps `model`, `repeat` and `evidence`.

    Read leniently, since a newer ragbed may write more: other fields, and lines of another shape, are passed over.
    """
    for path in sorted((run / FOLDER).glob("*.jsonl")):
        with open_regular(path) as lines:
            for line in lines:
                if found := _read(line):
                    yield found


class _Line(msgspec.Struct, frozen=True):
    case: str
    types: tuple[str, ...]
    model: str = ""
    repeat: int = 0
    evidence: tuple[ShownEvidence, ...] = ()


def _read(line: bytes) -> Diagnosed | None:
    try:
        told = msgspec.json.decode(line, type=_Line)
    except MALFORMED_JSON:
        return None
    return Diagnosed(told.case, told.model, told.repeat, tuple(sorted(set(told.types), key=_place)), told.evidence)


def _place(name: str) -> tuple[int, str]:
    """E2 stands before E10."""
    return len(name), name
