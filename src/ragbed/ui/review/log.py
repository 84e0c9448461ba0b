"""The append-only decision log; each line is a record that is flushed to disk before it is confirmed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Literal, TypeAlias

import msgspec

from ragbed.errors import MALFORMED_JSON, DataError, RagbedError, UsageError
from ragbed.io.jsonl import read_lines, sync_folder
from ragbed.io.locations import check_regular, open_regular
from ragbed.schema import Record

Verdict: TypeAlias = Literal["accept", "fix", "reject"]


class PointDecision(Record, frozen=True, kw_only=True):
    """A decision on one point of an item.

    `fix` is the new value: text, or the aliases of an answer part. `part` is the index, from 0, of the answer part that
    a passage of an integration item supports. `reason` says why the point is rejected.
    """

    point: str
    verdict: Verdict
    fix: str | tuple[str, ...] | None = None
    part: int | None = None
    reason: str = ""


class ReviewSettings(Record, frozen=True, kw_only=True, omit_defaults=False, tag="review", tag_field="line"):
    """The settings of a review; the last settings line in the log applies.

    `data` has the hash of each dataset, and `rater` is the name of the person who makes all decisions. `target` is the
    share of wrong items to rule out, and `seed` determines the random order.
    """

    at: str
    data: dict[str, str]
    rater: str
    target: float = 0.05
    seed: int = 0


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
_ENCODER = msgspec.json.Encoder()
_START = b'{"line":"'  # The bytes at the start of every line.


class Log:
    """A review's log. Any process can read it, but only one process at a time may append to it.

    After `read`, `torn` is the size of an incomplete last line left by a crash; such a line was never confirmed.

    Args:
        path: The log file; it is created when the first line is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn = 0
        self._is_checked = False

    def read(self) -> list[Line]:
        """Return all complete lines in order, or an empty list if there is no file yet.

        Raises:
            DataError: A line is not a valid line of a review log.
            UsageError: The file is a link, a pipe or a device.
        """
        check_regular(self.path)
        lines = []
        if self.path.exists():
            for number, packed in read_lines(self.path):
                self.torn = len(packed) if _is_torn(packed) else 0
                if not self.torn:
                    lines.append(_decode(self.path, number, packed))
        self._is_checked = True
        return lines

    def add(self, lines: Sequence[Line]) -> None:
        """Append lines; if an error is raised, none of them is appended.

        An incomplete last line is removed first, provided that all lines before it are valid.
        """
        if not self._is_checked:
            self.read()
        packed = pack(lines)
        try:
            with open_regular(self.path, "a+b", buffering=0) as file:
                ending = _end_last_line(file)
                before = file.seek(0, os.SEEK_END)
                _write(file.fileno(), ending + packed, before)
        except OSError as error:
            raise RagbedError(
                f"{self.path} cannot be written: {error.strerror}; the decision was not stored. Free disk space or "
                "check the file's permissions, then repeat the decision."
            ) from error
        except UsageError as error:  # The log file, not the decision, is invalid.
            raise RagbedError(f"{str(error).rstrip('.')}; the decision was not stored.") from error
        self.torn = 0
        if not before:
            sync_folder(self.path.parent)


def read_log(path: Path) -> Iterator[tuple[int, Line]]:
    """Yield the lines of a file with their line numbers.

    Raises:
        DataError: A line is not a valid line of a review log.
    """
    for number, packed in read_lines(path):
        yield number, _decode(path, number, packed)


def _decode(path: Path, number: int, packed: bytes) -> Line:
    try:
        return _DECODER.decode(packed)
    except MALFORMED_JSON as error:
        problem = (
            f"this is not a valid line of a review log ({error}); fix the line, or move the file to another folder"
        )
        raise DataError(path, problem, line=number) from error


def pack(lines: Iterable[Line]) -> bytes:
    """Encode lines in the format of the log file."""
    return b"".join(_ENCODER.encode(line) + b"\n" for line in lines)


def _write(handle: int, packed: bytes, before: int) -> None:
    try:
        left = memoryview(packed)
        while left:
            left = left[os.write(handle, left) :]
        os.fsync(handle)
    except OSError:
        os.ftruncate(handle, before)  # If the disk is full, the last line may be incomplete.
        raise


def _is_torn(packed: bytes) -> bool:
    """Return whether the last line of a file is an incomplete log line, left by a crash."""
    written = packed.rstrip(b"\0")  # Some file systems replace lost data with zeros.
    if packed.endswith(b"\n") or not written.startswith(_START[: len(written)]):
        return False
    try:
        msgspec.json.decode(packed)
    except MALFORMED_JSON:
        return True
    return False


def _end_last_line(file: IO[bytes]) -> bytes:
    """Remove an incomplete last line. If a complete last line lacks a line break, return a line break to add."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1))
    if file.read(1) in (b"", b"\n"):
        return b""
    file.seek(0)
    content = file.read()
    start = content.rfind(b"\n") + 1
    if not _is_torn(content[start:]):
        return b"\n"
    file.truncate(start)
    return b""
