"""Read JSON Lines with line numbers, and write files and folders atomically."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO, TYPE_CHECKING

from ragbed.errors import DataError, NoSuchFile, RagbedError, UsageError, explain_failed_read
from ragbed.io.locations import open_regular, report_errors

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# Maximum line length in bytes. The longest published RGB record is 60 kB long. A file with a longer line is
# almost certainly in a different format, e.g. a single JSON array, and reading it must not exhaust memory.
MAX_LINE_BYTES = 64 * 1024 * 1024
# Size of the read buffer in bytes. Most lines do not fit into Python's default buffer.
_BUFFER_BYTES = 256 * 1024

_OTHER_ENCODINGS = {
    b"\xef\xbb\xbf": "starts with a byte order mark; save it without one (`sed -i '1s/^\\xEF\\xBB\\xBF//' FILE`)",
    b"\xff\xfe": "is encoded as UTF-16; convert it to UTF-8 (`iconv -f UTF-16 -t UTF-8 FILE`)",
    b"\xfe\xff": "is encoded as UTF-16; convert it to UTF-8 (`iconv -f UTF-16 -t UTF-8 FILE`)",
    b"\x1f\x8b": "is compressed; decompress it first (`gunzip FILE`)",
    b"PK\x03\x04": "is a zip archive; unpack it first",
}


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield each non-blank line with its number, starting from 1, using bounded memory."""
    with _open(path) as source, report_errors(path, "read"):
        head = source.peek(4)  # type: ignore[attr-defined]
        for mark, problem in _OTHER_ENCODINGS.items():
            if head.startswith(mark):
                raise DataError(path, problem, line=1)
        number = 0
        while line := source.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                problem = f"the line is longer than {MAX_LINE_BYTES // 2**20} MiB; expected one JSON object per line"
                raise DataError(path, problem, line=number)
            if not line.isspace():
                yield number, line


def check_file(path: Path) -> None:
    """Raise an error if a file cannot be read."""
    _open(path).close()


def _open(path: Path) -> IO[bytes]:
    try:
        return open_regular(path, follow_links=True, buffering=_BUFFER_BYTES)
    except FileNotFoundError:
        raise NoSuchFile(path) from None
    except OSError as error:
        raise RagbedError(f"{path} cannot be read: {explain_failed_read(error)}.") from error


class _OutputFile(io.FileIO):
    """An output file whose write errors name the path that the user gave."""

    def __init__(self, path: Path, shown: Path) -> None:
        super().__init__(path, "xb")
        self._shown = shown

    def write(self, data: ReadableBuffer, /) -> int:
        with report_errors(self._shown, "written"):
            return super().write(data)


@contextmanager
def write_whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing; it appears under its final name only if the block succeeds.

    The bytes go to a temporary file in the same folder, which is synced and renamed; after an error or an interrupt the
    old file is unchanged. Missing folders are created, and a link is followed. A special file (a pipe, /dev/null) is
    written directly.
    """
    target = path.resolve()
    if target.is_dir():
        raise UsageError(f"{path} is a folder. Choose a file inside it.")
    if target.exists() and not target.is_file():
        with report_errors(path, "written"), open(target, "wb") as special:
            yield special
        return
    temporary = _temporary(target)
    try:
        with report_errors(path, "written"):
            if not target.parent.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
            sink = io.BufferedWriter(_OutputFile(temporary, path))
        with sink:
            yield sink
            sink.flush()
            with report_errors(path, "written"):
                os.fsync(sink.fileno())
        with report_errors(path, "written"):
            temporary.replace(target)
    finally:
        with suppress(OSError):  # deleting fails if the file was renamed or never created
            temporary.unlink()


def write_file(path: Path, content: bytes) -> None:
    """Write a file that appears under its final name only when it is complete."""
    with write_whole(path) as sink:
        sink.write(content)


def _temporary(target: Path) -> Path:
    return target.with_name(f".{target.name}.{token_hex(4)}.part")


def sync_folder(path: Path) -> None:
    """Sync a folder so that its new and renamed files survive a crash; syncing a file does not sync its name.

    Windows cannot open folders, and stores names with the files.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    with report_errors(path, "written"):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def make_folder(path: Path) -> None:
    """Create a folder and its parents."""
    with report_errors(path, "created"):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def write_whole_folder(path: Path) -> Iterator[Path]:
    """Create a folder that appears under its final name only if the block succeeds.

    Raises:
        UsageError: The path exists and is not an empty folder.
    """
    target = path.resolve()
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise UsageError(f"{path} already exists. Choose a new folder.")
    temporary = _temporary(target)
    try:
        with report_errors(path, "written"):
            temporary.mkdir(parents=True)
            yield temporary
            if target.exists():  # an empty folder, which Windows would not replace
                target.rmdir()
            temporary.replace(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # the folder either was renamed or is incomplete
