"""Lock a run folder, so that only one process at a time writes to the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragbed.errors import RagbedError, UsageError, explain_failed_write
from ragbed.io.file_lock import LockHeld, find_owner, lock_file
from ragbed.runs.database import NAME

_NAME = "lock"


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Lock a run folder; the lock is released when the process exits, even if it is killed.

    Raises:
        RagbedError: Another process holds the lock; the message names that process.
        UsageError: The lock file is a link, a pipe or a device.
    """
    if folder.is_file():
        raise UsageError(f"{folder} is a file, but a run must be a folder. Choose another path for `out`.")
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
            f"{folder} is not empty but contains no run (found: {other}). Choose a new folder for `out`, e.g. "
            f"out={folder / 'run'}."
        )


def holder(folder: Path) -> str | None:
    """Return the ID of the process that is writing to a run, or None if there is none."""
    return find_owner(folder / _NAME)
