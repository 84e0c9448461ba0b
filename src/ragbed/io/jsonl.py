"""Lines in and out: JSON Lines read with their place, files and folders written whole or not at all."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO, TYPE_CHECKING

from ragbed.errors import DataError, NoSuchFile, RagbedError, UsageError
from ragbed.io.locations import Place, Url, naming, open_regular, sent

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Longest line taken as a record. The longest published RGB record has 60 kB; a longer line is almost
surely a file of another kind (one big JSON array), and must not fill the memory."""

_BUFFER_BYTES = 256 * 1024
"""Read at once: lines are longer than what Python would take."""

_OTHER_ENCODINGS = {
    b"\xef\xbb\xbf": "starts with a byte order mark; save it as plain UTF-8 (`sed -i '1s/^\\xEF\\xBB\\xBF//' FILE`)",
    b"\xff\xfe": "is UTF-16; convert it (`iconv -f UTF-16 -t UTF-8 FILE`)",
    b"\xfe\xff": "is UTF-16; convert it (`iconv -f UTF-16 -t UTF-8 FILE`)",
    b"\x1f\x8b": "is compressed; unpack it first (`gunzip FILE`)",
    b"PK\x03\x04": "is a zip archive; unpack it first",
}


def part_of(key: str, count: int) -> int:
    """Which of so many parts a key belongs to, counted from 0; the same on every machine and in every version."""
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % count


def read_lines(path: Path, shown: Place | None = None) -> Iterator[tuple[int, bytes]]:
    """Yields each line that is not blank, with its number counted from 1, in bounded memory.

    Args:
        path: The file.
        shown: Under which name errors tell of it, where that is another.
    """
    with _open(path) as source, naming(path, "read"):
        head = source.peek(4)  # type: ignore[attr-defined]
        for mark, problem in _OTHER_ENCODINGS.items():
            if head.startswith(mark):
                raise DataError(shown or path, problem, line=1)
        number = 0
        while line := source.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise DataError(
                    shown or path,
                    f"the line is longer than {MAX_LINE_BYTES // 2**20} MiB; expected one JSON object a line",
                    line=number,
                )
            if not line.isspace():
                yield number, line


def check_file(path: Path) -> None:
    """Raises what is wrong with a file that cannot be read, before anything else is done."""
    _open(path).close()


def _open(path: Path) -> IO[bytes]:
    try:
        return open_regular(path, follow_links=True, buffering=_BUFFER_BYTES)
    except FileNotFoundError:
        raise NoSuchFile(path) from None
    except OSError as error:
        raise RagbedError(f"{path} cannot be read: {error.strerror}.") from error


class _OutputFile(io.FileIO):
    """A new file whose write errors name the output that the user asked for.

    Args:
        path: The file to create.
        shown: The name in error messages.
    """

    def __init__(self, path: Path, shown: Path) -> None:
        super().__init__(path, "xb")
        self._shown = shown

    def write(self, data: ReadableBuffer, /) -> int:
        with naming(self._shown, "written"):
            return super().write(data)


@contextmanager
def write_whole(path: Place) -> Iterator[IO[bytes]]:
    """Opens a file for writing that appears under its name only when the block ends well.

    The bytes go to a neighbour in the same folder, are synced and renamed; after an error or an interrupt the
    old file, or none, is there. Folders that are not there are made. A link is followed. What is no regular file (a
    pipe, /dev/null) is written to directly.
    """
    if isinstance(path, Url):
        with sent(path) as elsewhere:
            yield elsewhere
        return
    target = path.resolve()
    if target.exists() and not target.is_file():
        if target.is_dir():
            raise UsageError(f"{path} is a directory; name a file inside it.")
        with naming(path, "written"), open(target, "wb") as special:
            yield special
        return
    temporary = target.with_name(f".{target.name}.{token_hex(4)}.part")
    try:
        with naming(path, "written"):
            if not target.parent.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
            sink = io.BufferedWriter(_OutputFile(temporary, path))
        with sink:
            yield sink
            sink.flush()
            with naming(path, "written"):
                os.fsync(sink.fileno())
        with naming(path, "written"):
            temporary.replace(target)
    finally:
        with suppress(OSError):  # it is gone, or could not be made
            temporary.unlink()


def sync_folder(path: Path) -> None:
    """Make new and renamed files of a folder durable: syncing a file does not cover its name."""
    with naming(path, "written"):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def make_folder(path: Path) -> None:
    """Makes a folder, and those around it, where there is none."""
    with naming(path, "made"):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def write_whole_folder(path: Path) -> Iterator[Path]:
    """Gives a folder to fill that appears under its name only when the block ends well, and never over another.

    Raises:
        UsageError: There is something of that name already.
    """
    target = path.resolve()
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise UsageError(f"{path} is there already; name a new folder.")
    temporary = target.with_name(f".{target.name}.{token_hex(4)}.part")
    try:
        with naming(path, "written"):
            temporary.mkdir(parents=True)
            yield temporary
            temporary.replace(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # it is gone, or what went wrong left it
