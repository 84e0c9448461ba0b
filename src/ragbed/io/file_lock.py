"""Acquire exclusive file locks, which only one process can hold at a time.

The lock is the system's own lock on the open file (`flock`, or `LockFileEx` on Windows, which `filelock` calls), and is
released when the process ends, even if it is killed. The path-based locks of `filelock` are not used, because they
accept a named pipe as the lock file and fall back to a marker file that survives a killed process. `open_regular`
rejects links, pipes and devices. On a system without such a lock, files are not locked.
"""

from __future__ import annotations

import errno
import os
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import IO

from ragbed.errors import RagbedError
from ragbed.io.locations import open_regular

_MAX_PID_BYTES = 20
_RETRY_S = 0.005
_PROBE_S = 0.05  # seconds to keep retrying, because another process may hold the lock briefly just to check it
_HELD = (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK)  # error codes if another process holds the lock
_PID_WAIT_S = 0.2  # seconds to wait for the process ID, which the owner writes just after taking the lock


class LockHeld(RagbedError):
    """Another process holds the lock; `owner` is its process ID, or "unknown"."""

    def __init__(self, path: Path, owner: str) -> None:
        super().__init__(f"{path} is locked by process {owner}.")
        self.owner = owner


def lock_file(path: Path, wait_s: float = _PROBE_S) -> IO[bytes]:
    """Create a lock file if necessary, lock it and write this process's ID to it; closing the file releases the lock.

    Raises:
        LockHeld: Another process still holds the lock after the wait.
        UsageError: The path names a link, a pipe or a device.
        OSError: The file cannot be opened.
    """
    file = open_regular(path, "a+b")
    try:
        if not _try_lock(file, wait_s):
            raise LockHeld(path, _read_owner(file))
        try:
            file.truncate(0)
            file.write(str(os.getpid()).encode())
            file.flush()
        except OSError:  # e.g. a full disk; the lock works even without the process ID
            file.seek(0)
    except BaseException:
        with suppress(OSError):  # closing fails if the process ID could not be written
            file.close()
        raise
    return file


def find_owner(path: Path) -> str | None:
    """Return the ID of the process that holds the lock, or None if no process holds it."""
    try:
        try:
            file = open_regular(path, "r+b")  # NFS locks only files that are open for writing
        except PermissionError:
            file = open_regular(path)
    except OSError:
        return None
    with file:
        return None if _try_lock(file, _PROBE_S) else _read_owner(file)


def _try_lock(file: IO[bytes], wait_s: float) -> bool:
    ends = time.monotonic() + wait_s
    try:
        while not _lock_now(file.fileno()):
            if time.monotonic() >= ends:
                return False
            time.sleep(_RETRY_S)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise RagbedError(
                f"{file.name} cannot be locked: {error.strerror}. Use a folder on a local disk."
            ) from error
    return True


def _lock_now(descriptor: int) -> bool:
    """Return whether the lock could be acquired without waiting."""
    try:
        import fcntl  # noqa: PLC0415 - does not exist on Windows
    except ImportError:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "only soft file lock")  # soft locks are not used
            from filelock import lock_descriptor  # noqa: PLC0415 - slow to import

        return lock_descriptor(descriptor, blocking=False)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            return False
        raise
    return True


def _read_owner(file: IO[bytes]) -> str:
    ends = time.monotonic() + _PID_WAIT_S
    while time.monotonic() < ends:
        with suppress(OSError):  # Windows does not let other processes read a locked byte
            file.seek(0)
            if owner := file.read(_MAX_PID_BYTES).strip():
                return owner.decode("ascii", "replace")
        time.sleep(_RETRY_S)
    return "unknown"
