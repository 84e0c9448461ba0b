"""The local engine, which runs short tasks in this process and starts more processes for longer tasks."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from ragbed.errors import RagbedError

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

    from ragbed.models import ModelConfig
    from ragbed.models.base import Model

_ALONE_S = 1.0  # approximate start-up time of a process in seconds; shorter tasks finish sooner without a new process
_AHEAD = 3  # maximum number of running and queued jobs per process, to limit memory use
Job = TypeVar("Job")
Result = TypeVar("Result")


class LocalEngine:
    """The default engine, which uses only this machine.

    Args:
        workers: Number of processes, or None for the number of cores. It does not affect the results.
        alone_s: Seconds of CPU time in this process before more processes are started.
    """

    def __init__(self, workers: int | None = None, alone_s: float = _ALONE_S) -> None:
        self.workers, self._alone_s = workers or os.cpu_count() or 1, alone_s
        self._pool: ProcessPoolExecutor | None = None

    def spread(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """Apply a pure function to jobs and yield the results in order, computing only a few results in advance.

        The function must be at module level, and jobs and results must be picklable.
        """
        remaining, spent_s = iter(jobs), 0.0
        for job in remaining:
            started = time.process_time()  # measure CPU time, because other programs would increase the wall time
            result = work(job)
            spent_s += time.process_time() - started
            yield result
            if self.workers > 1 and spent_s >= self._alone_s:
                yield from self._spread_wide(work, remaining)

    def open_model(self, spec: str, wish: ModelConfig) -> Model:
        """Open the model specified by a model string."""
        from ragbed.models import open_model  # noqa: PLC0415 - scoring a run needs no models

        return open_model(spec, lambda name: replace(wish, model=name))

    def close(self) -> None:
        """Stop the worker processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _spread_wide(self, work: Callable[[Job], Result], jobs: Iterator[Job]) -> Iterator[Result]:
        from concurrent.futures.process import BrokenProcessPool  # noqa: PLC0415 - as in `_start_pool`

        self._pool = self._pool or _start_pool(self.workers)
        waiting: deque[Future[Result]] = deque()
        try:
            for job in jobs:
                waiting.append(self._pool.submit(work, job))
                if len(waiting) >= self.workers * _AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            self.close()  # a pool that has lost a process accepts no more work
            raise RagbedError(
                "a worker process exited before it had finished its work. The usual cause is insufficient memory: "
                "close other programs or use a machine with more memory, then rerun the same command."
            ) from None
        finally:
            for future in waiting:
                future.cancel()


def _start_pool(workers: int) -> ProcessPoolExecutor:
    # These imports are slow, and most work finishes before a process pool is needed.
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415

    from ragbed.runs.engines.spawning import SafeSpawnContext, safe_path  # noqa: PLC0415

    with safe_path():
        return ProcessPoolExecutor(workers, mp_context=SafeSpawnContext(), initializer=_begin_worker)


def _begin_worker() -> None:
    """Ignore Ctrl-C, so that workers print no tracebacks, and exit when the parent process exits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Exit when the parent exits; otherwise, a killed parent's workers would wait for work forever."""
    from multiprocessing import parent_process  # noqa: PLC0415 - as above

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
