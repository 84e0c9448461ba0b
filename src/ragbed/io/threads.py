"""Run blocking functions in daemon threads, which, unlike those of `asyncio.to_thread`, do not delay process exit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from threading import Thread
from typing import TypeVar, cast

T = TypeVar("T")


def in_daemon_thread(work: Callable[[], T], name: str = "ragbed-worker") -> asyncio.Future[T]:
    """Run a function in a daemon thread; a SystemExit or KeyboardInterrupt that it raises becomes a RuntimeError."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def run() -> None:
        try:
            resolve(future, work())
        except BaseException as error:  # the error is passed to the waiting task
            # An asyncio future does not accept StopIteration as its exception.
            usable = isinstance(error, Exception) and not isinstance(error, StopIteration)
            resolve(future, None, error if usable else RuntimeError(f"{type(error).__name__}: {error}"))

    context = copy_context()  # messages name options as the command line does
    Thread(target=context.run, args=(run,), name=name, daemon=True).start()
    return future


def resolve(future: asyncio.Future[T], result: T | None, error: BaseException | None = None) -> None:
    """Set a future's result or error from another thread, unless the waiting task has been cancelled."""

    def settle() -> None:
        if future.done():
            return
        if error is None:
            future.set_result(cast("T", result))
        else:
            future.set_exception(error)
            future.exception()  # mark the exception as retrieved, because the waiting task may have been cancelled

    with suppress(RuntimeError):  # the event loop may already be closed
        future.get_loop().call_soon_threadsafe(settle)
