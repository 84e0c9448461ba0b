"""The append-only decision log; each line is a record that is flushed to disk before it is confirmed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from ragbed.errors import MALFORMED_JSON, DataError, RagbedError, UsageError
from ragbed.io.jsonl import sync_folder
from ragbed.io.locations import check_regular, open_regular, read_regular
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
_START = b'{"line":"'  # The bytes at the start of every line.


class Log:
    """A review's log. Any process can read it, but only one process at a time may append to it.

    Attributes:
        lines: The complete lines when the file was read.
        torn: Size of an incomplete last line left by a crash; such a line was never confirmed.

    Args:
        path: The log file; it is created when the first line is written.

    Raises:
        DataError: A line is not a valid line of a review log.
        UsageError: The file is a link, a pipe or a device.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        check_regular(path)
        content = read_regular(path) if path.exists() else b""
        *complete, last = content.split(b"\n")
        self.torn = len(last) if _is_torn(last) else 0
        self._ending = b"\n" if last and not self.torn else b""
        packed = complete if self.torn else [*complete, last]
        self.lines = [_decode(path, number, line) for number, line in enumerate(packed, 1) if line.strip()]

    def add(self, lines: Sequence[Line]) -> None:
        """Append lines, in place of an incomplete last line; if an error is raised, none of them is appended."""
        packed = self._ending + b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        try:
            with open_regular(self.path, "a+b", buffering=0) as file:
                before = file.seek(0, os.SEEK_END) - self.torn
                file.truncate(before)
                try:
                    left = memoryview(packed)
                    while left:
                        left = left[file.write(left) :]
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(before)  # If the disk is full, the last line may be incomplete.
                    raise
        except (OSError, UsageError) as error:
            problem = f"{self.path} cannot be written: {error.strerror}" if isinstance(error, OSError) else str(error)
            raise RagbedError(
                f"{problem.rstrip('.')}; the decision was not stored. Free disk space or check the file's permissions, "
                "then repeat the decision."
            ) from error
        self.torn, self._ending = 0, b""
        if not before:
            sync_folder(self.path.parent)


def _decode(path: Path, number: int, packed: bytes) -> Line:
    try:
        return _DECODER.decode(packed)
    except MALFORMED_JSON as error:
        problem = (
            f"this is not a valid line of a review log ({error}); fix the line, or move the file to another folder"
        )
        raise DataError(path, problem, line=number) from error


def _is_torn(last: bytes) -> bool:
    """Return whether a last line without a line break is an incomplete log line, left by a crash."""
    written = last.rstrip(b"\0")  # Some file systems replace lost data with zeros.
    if not last or not written.startswith(_START[: len(written)]):
        return False
    try:
        msgspec.json.decode(last)
    except MALFORMED_JSON:
        return True
    return False
