"""Open files of the right kind, and report errors of the system with the file's name."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ragbed.errors import RagbedError, UsageError, explain_failed_read, explain_failed_write

# Windows does not have these flags; links are rejected there by a check before the file is opened.
_NO_FOLLOW, _NO_WAIT = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK"))
_KINDS = {stat.S_IFDIR: "directory", stat.S_IFLNK: "symbolic link", stat.S_IFIFO: "named pipe",
          stat.S_IFSOCK: "socket", stat.S_IFCHR: "device", stat.S_IFBLK: "device"}  # fmt: skip


def open_regular(path: Path, mode: str = "rb", *, follow_links: bool = False, buffering: int = -1) -> IO[bytes]:
    """Open a regular file in one of the binary modes of `open`, without ever waiting for a pipe or reading a device.

    Args:
        path: The file.
        mode: "rb", "r+b", "ab", "a+b", "wb" or "xb". Truncation happens after the check.
        follow_links: Whether the last part of the path may be a symbolic link. Allow this only for a path that the
            user typed, never for a name inside a folder that somebody else may have prepared.
        buffering: As for `open`.

    Raises:
        UsageError: The path is not a regular file.
        OSError: The file cannot be opened, e.g. because it does not exist.
    """
    links = 0 if follow_links else _NO_FOLLOW
    if not _NO_FOLLOW:
        check_regular(path, follow_links=follow_links)

    def opener(name: str, flags: int) -> int:
        try:
            handle = os.open(name, (flags & ~os.O_TRUNC) | links | _NO_WAIT, 0o666)
        except OSError:
            check_regular(path, follow_links=follow_links)
            raise
        try:
            _refuse_kind(path, os.fstat(handle).st_mode)
            if flags & os.O_TRUNC:
                os.ftruncate(handle, 0)
        except BaseException:
            os.close(handle)
            raise
        return handle

    file: IO[bytes] = open(path, mode, buffering=buffering, opener=opener)  # noqa: SIM115 - the caller closes it
    return file


def read_regular(path: Path) -> bytes:
    """Read a file that the user named; see `open_regular` for the errors raised."""
    with open_regular(path, follow_links=True) as file:
        return file.read()


def check_regular(path: Path, *, follow_links: bool = False) -> None:
    """Reject a path that is not a regular file; a missing file is accepted.

    Raises:
        UsageError: The path is a directory, link, pipe, socket or device.
    """
    try:
        mode = path.stat(follow_symlinks=follow_links).st_mode
    except OSError:
        return  # the error is reported when the file is opened
    _refuse_kind(path, mode)


def place_inside(folder: Path, *names: str) -> Path:
    """Return a path inside an untrusted folder, without following symbolic links.

    Raises:
        UsageError: One of the path components is a symbolic link, which may lead elsewhere.
    """
    path = folder
    for name in names:
        path /= name
        if path.is_symlink():
            raise UsageError(
                f"{path} is a symbolic link, and symbolic links inside {folder} are not followed. Replace it with a "
                "copy of its target."
            )
    return path


def _refuse_kind(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "special file")
        raise UsageError(f"{path} is a {kind}, not a regular file.")


@contextmanager
def report_errors(path: Path, done: str) -> Iterator[None]:
    """Convert errors of the system to errors that name the path.

    Args:
        path: The path.
        done: The attempted operation: "read", "written", "created" or "deleted".
    """
    try:
        yield
    except OSError as error:
        reason = explain_failed_read(error) if done == "read" else explain_failed_write(error)
        raise RagbedError(f"{path} cannot be {done}: {reason}.") from error
