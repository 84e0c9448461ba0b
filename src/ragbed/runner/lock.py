"""One process at a time writes a run."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ragbed.errors import RagbedError

_NAME = "lock"
_LOOKS, _LOOK_S = 20, 0.01
"""The holder writes its number just after it took the lock; who comes in between looks again, for so long."""


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Holds a folder; the system lets go of it when the process ends, however it ends.

    Raises:
        RagbedError: Another process holds it; the message names that process.
    """
    path = folder / _NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = open(path, "a+", encoding="utf-8")  # noqa: SIM115 - closed below
    except OSError as error:
        raise RagbedError(f"{path} cannot be written: {error.strerror}.") from error
    with handle:
        if not _take(handle, fcntl.LOCK_EX):
            raise RagbedError(f"{folder} is being written by process {_read(handle)}; wait for it, or stop it.")
        try:
            handle.truncate(0)
            handle.write(str(os.getpid()))
            handle.flush()
        except OSError:
            # A full disk cannot take the number; the lock holds all the same, and the store says what is wrong.
            handle.seek(0)
        yield


def holder(folder: Path) -> str | None:
    """The process that writes a run at this moment, if there is one."""
    try:
        handle = open(folder / _NAME, encoding="utf-8")  # noqa: SIM115 - closed below
    except OSError:
        return None
    with handle:
        return None if _take(handle, fcntl.LOCK_SH) else _read(handle)


def _take(handle: IO[str], kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise RagbedError(f"{handle.name} cannot be locked: {error.strerror}; keep runs on a local disk.") from error
    return True


def _read(handle: IO[str]) -> str:
    for _ in range(_LOOKS):
        handle.seek(0)
        if number := handle.read().strip():
            return number
        time.sleep(_LOOK_S)
    return "unknown"
