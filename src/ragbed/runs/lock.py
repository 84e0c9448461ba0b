"""Lock a run folder, so that only one process at a time writes to the run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ragbed.errors import RagbedError, UsageError, explain_failed_write, option
from ragbed.io.file_lock import LockHeld, find_owner, lock_file
from ragbed.runs.database import NAME, is_open_elsewhere

_NAME = "lock"


class RunLock:
    """A lock on a run folder, held by this process.

    Args:
        path: The lock file.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, lock_file(path)

    def renew(self) -> None:
        """Recreate and lock the lock file if it was deleted or replaced, so that no other process can lock it."""
        with suppress(OSError, RagbedError):
            if not is_same_file(self._path, os.fstat(self._file.fileno())):
                file: IO[bytes] = lock_file(self._path, wait_s=0)
                self.close()
                self._file = file

    def close(self) -> None:
        """Release the lock."""
        self._file.close()


def is_same_file(path: Path, known: os.stat_result) -> bool:
    """Return whether a path still refers to the file that was opened there earlier."""
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), known)
    except OSError:
        return False


@contextmanager
def hold(folder: Path) -> Iterator[RunLock]:
    """Lock a run folder; the lock is released when the process exits, even if it is killed.

    Raises:
        RagbedError: Another process holds the lock; the message names that process.
        UsageError: The lock file is a link, a pipe or a device.
    """
    path = folder / _NAME
    if folder.is_file():
        raise UsageError(f"{folder} is a file, but a run must be a folder. Choose another path for {option('out')}.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        held = RunLock(path)
    except LockHeld as error:
        raise RagbedError(
            f"{folder} is in use by process {error.owner}. Wait until that process has finished, or stop it."
        ) from None
    except OSError as error:
        raise RagbedError(f"{folder} cannot be written to: {explain_failed_write(error)}.") from error
    try:
        if is_new and is_open_elsewhere(folder / NAME):
            path.unlink(missing_ok=True)
            raise RagbedError(
                f"{path} was deleted, and another process has {folder / NAME} open. Wait until that process "
                "has finished, or stop it."
            )
        yield held
    finally:
        held.close()


def check_run_folder(folder: Path) -> None:
    """Check that a folder is new or empty, or contains a run.

    Raises:
        UsageError: The folder contains other files, but no run.
    """
    try:
        names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    except OSError:  # there is no folder yet, or `hold` will report that it cannot be used
        return
    if NAME not in names and (other := min(names - {_NAME}, default=None)) is not None:
        raise UsageError(
            f"{folder} is not empty but contains no run (found: {other}). Choose a new folder for {option('out')}, "
            "e.g. "
            f"{option('out', folder / 'run')}."
        )


def holder(folder: Path) -> str | None:
    """Return the ID of the process that is writing to a run, or None if there is none."""
    return find_owner(folder / _NAME)
