"""Read the error types that `ragbed diagnose` stored with a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from ragbed.analysis.diagnosis.records import FOLDER
from ragbed.errors import MALFORMED_JSON
from ragbed.io.locations import open_regular

# Maximum line length. Records need only a few kilobytes; longer lines are skipped, so that they cannot exhaust memory.
_MAX_LINE_BYTES = 1_000_000


class ShownEvidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """The evidence for an error type.

    `document`, `part` and `bound_to` (sub-questions) count from 0; `document` is None if the reason is in the response.
    `asked` is a qualifier in the question, and `found` is the different qualifier in the document. `what_zh` is `what`
    in Chinese, which older files lack.
    """

    type: str
    what: str
    what_zh: str = ""
    document: int | None = None
    start: int | None = None
    end: int | None = None
    cue: str | None = None
    asked: str | None = None
    found: str | None = None
    part: int | None = None
    bound_to: int | None = None


class Diagnosed(msgspec.Struct, frozen=True):
    """The error types of one response or, if `model` is empty, of all models' responses to the case."""

    case: str
    types: tuple[str, ...]
    model: str = ""
    repeat: int = 0
    evidence: tuple[ShownEvidence, ...] = ()


def stamp_of(run: Path) -> str:
    """Return a string that changes when a run's diagnosis records change."""
    stats = [(path.name, path.stat()) for path in sorted((run / FOLDER).glob("*.jsonl"))]
    return "; ".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats)


def read_diagnosed(run: Path) -> Iterator[Diagnosed]:
    """Yield a run's diagnosis records, skipping those without the fields `case` and `types`.

    Unknown fields, lines in other formats and overlong lines are skipped, because a newer version may write more.
    """
    for path in sorted((run / FOLDER).glob("*.jsonl")):
        for line in _lines(path):
            with suppress(*MALFORMED_JSON):
                record = msgspec.json.decode(line, type=Diagnosed)
                types = sorted(set(record.types), key=lambda name: (len(name), name))  # Sorts E2 before E10.
                yield msgspec.structs.replace(record, types=tuple(types))


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file in bounded memory, skipping overlong ones."""
    with open_regular(path) as source:
        is_rest = False  # Whether the next piece belongs to an overlong line.
        while piece := source.readline(_MAX_LINE_BYTES):
            is_cut = len(piece) == _MAX_LINE_BYTES and not piece.endswith(b"\n")
            if not is_rest and not is_cut:
                yield piece
            is_rest = is_cut or (is_rest and not piece.endswith(b"\n"))
