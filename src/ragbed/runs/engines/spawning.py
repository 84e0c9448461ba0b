"""Child processes that do not import from the current folder.

Python puts the current folder first on the path of a process that is started with `-c`, as `multiprocessing` does.
A file such as `msgspec.py` in a folder of downloaded data would then run in every child.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from typing import Any

from ragbed import environment


def safe_path() -> AbstractContextManager[None]:
    """Keep the current folder off the import path of every Python process that is started inside."""
    return environment.temporary({"PYTHONSAFEPATH": "1"})


class _SafeProcess(SpawnProcess):
    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Any:  # noqa: ANN401, N802 - the signature of multiprocessing
        with safe_path():
            return SpawnProcess._Popen(process_obj)


class SafeSpawnContext(SpawnContext):
    """The spawn context of `multiprocessing` with `safe_path` around the start of each process.

    Semaphores and queues start a process too (the resource tracker): create them, or the pool that does, inside
    `safe_path`.
    """

    Process = _SafeProcess
