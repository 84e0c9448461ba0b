"""Lock a run folder, so that only one process at a time writes to the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragbed.errors import RagbedError, UsageError, explain_failed_write, option
from ragbed.io.file_lock import LockHeld, find_owner, lock_file

_NAME = "lock"


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Lock a run folder; the lock is released when the process exits, even if it is killed.

    Raises:
        RagbedError: Another process holds the lock; the message names that process.
        UsageError: The lock file is a link, a pipe or a device.
    """
    if folder.is_file():
        raise UsageError(f"{folder} is a file, but a run must be a folder. Choose another path for {option('out')}.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = lock_file(folder / _NAME)
    except LockHeld as error:
        raise RagbedError(
            f"{folder} is in use by process {error.owner}. Wait until that process has finished, or stop it."
        ) from None
    except OSError as error:
        raise RagbedError(f"{folder} cannot be written to: {explain_failed_write(error)}.") from error
    with held:
        yield


def holder(folder: Path) -> str | None:
    """Return the ID of the process that is writing to a run, or None if there is none."""
    return find_owner(folder / _NAME)
