"""Who decided what and when: lines that are only ever added, each on the disk before anybody is told so."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from ragbed.errors import DataError, RagbedError
from ragbed.review.record import Line
from ragbed.store import read_lines

_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
_ENCODER = msgspec.json.Encoder()


class Log:
    """The log of a review.

    Args:
        path: The file; it appears with the first line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn = _cut_torn(path)
        """Bytes of a last line that was never written whole, as after a crash; nobody was told that it was kept."""

    def read(self) -> list[Line]:
        """All lines, in their order; none if there is no file yet."""
        return [line for _, line in read_log(self.path)] if self.path.exists() else []

    def add(self, lines: Sequence[Line]) -> None:
        """Adds lines: all of them, or none and an error."""
        packed = pack(lines)
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                before = os.fstat(handle).st_size
                _write(handle, packed, before)
            finally:
                os.close(handle)
        except OSError as error:
            raise RagbedError(f"{self.path} cannot be written: {error.strerror}; nothing was kept of this.") from error


def read_log(path: Path) -> Iterator[tuple[int, Line]]:
    """The lines of a file, with their numbers.

    Raises:
        DataError: One of them is no line of a review.
    """
    for number, line in read_lines(path):
        try:
            yield number, _DECODER.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problem = f"is no line of a review ({error}); mend it, or move the file away"
            raise DataError(path, problem, line=number) from error


def pack(lines: Iterable[Line]) -> bytes:
    """Lines as a file has them."""
    return b"".join(_ENCODER.encode(line) + b"\n" for line in lines)


def _write(handle: int, packed: bytes, before: int) -> None:
    try:
        left = memoryview(packed)
        while left:
            left = left[os.write(handle, left) :]
        os.fsync(handle)
    except OSError:
        os.ftruncate(handle, before)  # a full disk may have taken half of it
        raise


def _cut_torn(path: Path) -> int:
    """Takes away what stands behind the last end of a line; how many bytes that were."""
    if not path.exists():
        return 0
    try:
        with open(path, "r+b") as file:
            content = file.read()
            kept = content.rfind(b"\n") + 1
            if kept < len(content):
                file.truncate(kept)
                os.fsync(file.fileno())
            return len(content) - kept
    except OSError as error:
        raise RagbedError(f"{path} cannot be opened: {error.strerror}.") from error
