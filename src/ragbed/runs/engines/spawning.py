"""Start child processes that import neither modules from the current folder nor the main module.

Python puts the current folder first on the import path of processes started with `-c`, as `multiprocessing` does.
A file such as `msgspec.py` in a folder of downloaded data would then run in every child. `multiprocessing` also imports
the main module in every child, so a script that calls `ragbed.score` without `if __name__ == "__main__":` would start
itself again. Neither is needed, because the work is always a function in an installed module.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

from ragbed import environment


def safe_path() -> AbstractContextManager[None]:
    """Keep the current folder off the import path of every Python process started within the context."""
    return environment.temporary({"PYTHONSAFEPATH": "1"})


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main module from `multiprocessing`."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


class _SafeProcess(SpawnProcess):
    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Any:  # noqa: ANN401, N802 - the signature of multiprocessing
        with safe_path(), _without_main():
            return SpawnProcess._Popen(process_obj)


class SafeSpawnContext(SpawnContext):
    """A `multiprocessing` spawn context for processes that import none of the user's modules.

    Semaphores and queues also start a process (the resource tracker), so create them, or the pool that creates them,
    inside `safe_path`.
    """

    Process = _SafeProcess
