"""One process at a time writes a run."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ragbed.errors import RagbedError
from ragbed.io.locations import open_regular
from ragbed.runs.database import NAME, is_open_elsewhere

_NAME = "lock"
_LONGEST = 20
"""Bytes of a process number, and more."""
_LOOKS, _LOOK_S = 20, 0.01
"""The holder writes its number just after it took the lock; who comes in between looks again, for so long."""


class Held:
    """A lock that this process holds.

    Args:
        path: The file of the lock.
        handle: The same file, open and locked.
    """

    def __init__(self, path: Path, handle: IO[bytes]) -> None:
        self._path, self._handle = path, handle
        self._sign()

    def renew(self) -> None:
        """Lock the file anew if it was deleted or replaced, so that no other process can take it for free."""
        with suppress(OSError, RagbedError):
            if is_same_file(self._path, os.fstat(self._handle.fileno())):
                return
            handle = open_regular(self._path, "a+b")
            if _take(handle, fcntl.LOCK_EX):
                self._handle.close()
                self._handle = handle
                self._sign()
            else:
                handle.close()

    def close(self) -> None:
        """Give the lock back."""
        self._handle.close()

    def _sign(self) -> None:
        try:
            self._handle.truncate(0)
            self._handle.write(str(os.getpid()).encode())
            self._handle.flush()
        except OSError:
            # A full disk cannot take the number; the lock holds all the same, and the store reports what is wrong.
            self._handle.seek(0)


def is_same_file(path: Path, known: os.stat_result) -> bool:
    """Tell whether a path still names the file that was opened under it."""
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), known)
    except OSError:
        return False


@contextmanager
def hold(folder: Path) -> Iterator[Held]:
    """Holds a folder; the system lets go of it when the process ends, however it ends.

    Raises:
        RagbedError: Another process holds it; the message names that process.
        UsageError: The lock is a link, a pipe or a device.
    """
    path = folder / _NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        handle = open_regular(path, "a+b")
    except OSError as error:
        raise RagbedError(f"{path} cannot be written: {error.strerror}.") from error
    if not _take(handle, fcntl.LOCK_EX):
        with handle:
            raise RagbedError(f"{folder} is being written by process {_read(handle)}; wait for it, or stop it.")
    held = Held(path, handle)
    try:
        if is_new and is_open_elsewhere(folder / NAME):
            path.unlink(missing_ok=True)
            raise RagbedError(
                f"{path} was deleted, and another process has {folder / NAME} open. Wait for that process or stop it."
            )
        yield held
    finally:
        held.close()


def holder(folder: Path) -> str | None:
    """The process that writes a run at this moment, if there is one."""
    try:
        handle = open_regular(folder / _NAME)
    except OSError:
        return None
    with handle:
        return None if _take(handle, fcntl.LOCK_SH) else _read(handle)


def _take(handle: IO[bytes], kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise RagbedError(f"{handle.name} cannot be locked: {error.strerror}; keep runs on a local disk.") from error
    return True


def _read(handle: IO[bytes]) -> str:
    for _ in range(_LOOKS):
        handle.seek(0)
        if number := handle.read(_LONGEST).strip():
            return number.decode("ascii", "replace")
        time.sleep(_LOOK_S)
    return "unknown"
