"""The log of decisions, which is on disk before a decision is confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from ragbed.errors import MALFORMED_JSON, DataError, RagbedError
from ragbed.io.jsonl import read_lines, sync_folder, write_file
from ragbed.io.locations import check_regular
from ragbed.schema import Record


class PointDecision(Record, frozen=True, kw_only=True):
    """A decision on one point of an item.

    `fix` is the new value: text, or the aliases of an answer part. `part` is the index, from 0, of the answer part that
    a passage of an integration item supports. `reason` says why the point is rejected.
    """

    point: str
    verdict: Literal["accept", "fix", "reject"]
    fix: str | tuple[str, ...] | None = None
    part: int | None = None
    reason: str = ""


class ReviewSettings(Record, frozen=True, kw_only=True, omit_defaults=False, tag="review", tag_field="line"):
    """The settings of a review; the last settings line in the log applies.

    `rater` is the name of the person who makes all decisions, and `target` is the share of wrong items to rule out.
    """

    at: str
    rater: str
    target: float = 0.05


class Decided(Record, frozen=True, kw_only=True, tag="decide", tag_field="line"):
    """Decisions on an item, submitted together.

    `act` is a unique ID, `item` is the dataset and the item's ID, and `digest` is the item's hash at that time.
    """

    act: str
    at: str
    item: str
    digest: str
    said: tuple[PointDecision, ...]


class Undone(Record, frozen=True, kw_only=True, tag="undo", tag_field="line"):
    """The withdrawal of a decision; `undoes` is its ID."""

    at: str
    undoes: str


Line: TypeAlias = ReviewSettings | Decided | Undone

_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


class Log:
    """A review's log. Any process can read it, but only one process at a time may add to it.

    Attributes:
        lines: The lines.

    Args:
        path: The log file; it is created when the first line is written.

    Raises:
        DataError: A line is not a valid line of a review log.
        UsageError: The file is a link, a pipe or a device.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.lines = path, list[Line]()
        check_regular(path)
        for number, line in read_lines(path) if path.exists() else ():
            try:
                self.lines.append(_DECODER.decode(line))
            except MALFORMED_JSON as error:
                problem = f"this is not a valid line of a review log ({error}); fix the line, or move the file"
                raise DataError(path, problem, line=number) from error

    def add(self, lines: Sequence[Line]) -> None:
        """Add lines; if an error is raised, none of them is added."""
        kept = [*self.lines, *lines]
        try:
            write_file(self.path, b"".join(msgspec.json.encode(line) + b"\n" for line in kept))
            sync_folder(self.path.parent)
        except RagbedError as error:
            raise RagbedError(f"{str(error).rstrip('.')}; the decision was not stored. Repeat it.") from error
        self.lines = kept
