"""One process at a time writes a run."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from collections.abc import Iterator
from pathlib import Path

from ragbed.errors import RagbedError


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Holds a folder; the system lets go of it when the process ends, however it ends."""
    path = folder / "lock"
    try:
        handle = open(path, "a+", encoding="utf-8")  # noqa: SIM115 - closed below
    except OSError as error:
        raise RagbedError(f"{path} cannot be written: {error.strerror}.") from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            holder = handle.read().strip() or "unknown"
            raise RagbedError(f"{folder} is being written by process {holder}; wait for it, or stop it.") from None
        handle.truncate(0)
        handle.write(str(os.getpid()))
        handle.flush()
        yield
