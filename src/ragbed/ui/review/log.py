"""The log of decisions, which is on disk before a decision is confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

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


class Decided(Record, frozen=True, kw_only=True):
    """Decisions on an item, submitted together.

    `item` is the dataset and the item's ID, and `digest` is the item's hash at that time.
    """

    at: str
    rater: str
    item: str
    digest: str
    said: tuple[PointDecision, ...]


_DECODER: msgspec.json.Decoder[Decided] = msgspec.json.Decoder(Decided)


class Log:
    """A review's log. Any process can read it, but only one process at a time may write it.

    Attributes:
        lines: The decisions that have not been withdrawn.

    Args:
        path: The log file; it is created when the first line is written.

    Raises:
        DataError: A line is not a valid line of a review log.
        UsageError: The file is a link, a pipe or a device.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.lines = path, list[Decided]()
        check_regular(path)
        for number, line in read_lines(path) if path.exists() else ():
            try:
                self.lines.append(_DECODER.decode(line))
            except MALFORMED_JSON as error:
                problem = f"this is not a valid line of a review log ({error}); fix the line, or move the file"
                raise DataError(path, problem, line=number) from error

    def replace(self, lines: Sequence[Decided]) -> None:
        """Write these lines instead of the current ones; if an error is raised, the current ones are kept."""
        try:
            write_file(self.path, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
            sync_folder(self.path.parent)
        except RagbedError as error:
            raise RagbedError(f"{str(error).rstrip('.')}; the decision was not stored. Repeat it.") from error
        self.lines = list(lines)
