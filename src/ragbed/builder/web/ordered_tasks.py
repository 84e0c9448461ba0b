"""Run tasks concurrently, and yield results in the order in which the tasks started, so builds are deterministic."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

_MOST_EXITS = 10  # maximum number of attempts to end the tasks that a signal has interrupted
Thing = TypeVar("Thing")


async def in_order(work: AsyncIterator[Coroutine[Any, Any, Thing]], at_once: int) -> AsyncIterator[Thing]:
    """Run up to `at_once` tasks at a time, and yield their results in order."""
    running = deque[asyncio.Future[Thing]]()
    try:
        async for task in work:
            running.append(asyncio.ensure_future(task))
            if len(running) >= at_once:
                yield await running[0]
                running.popleft()
        while running:
            yield await running[0]
            running.popleft()
    finally:
        for future in running:
            future.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def take_turns(things: Iterable[Thing], url_of: Callable[[Thing], str]) -> Iterator[Thing]:
    """Reorder objects by the hosts of their URLs, so that hosts alternate and few tasks wait for the same host."""
    queues: dict[str, deque[Thing]] = defaultdict(deque)
    for thing in things:
        queues["/".join(url_of(thing).split("/", 3)[:3])].append(thing)
    while queues:
        for host in list(queues):
            yield queues[host].popleft()
            if not queues[host]:
                del queues[host]


def drain(stream: AsyncGenerator[Thing, None]) -> Iterator[Thing]:
    """Yield an asynchronous generator's items synchronously, and close the generator at the end."""
    received: list[Thing] = []

    # Do not return the item: `asyncio.Runner` calls `repr` on a task's result, which is slow for a large item.
    async def receive() -> None:
        received.append(await anext(stream))

    with asyncio.Runner() as runner:
        try:
            while True:
                try:
                    runner.run(receive())
                except StopAsyncIteration:
                    return
                except (SystemExit, KeyboardInterrupt):
                    _end_tasks(runner)
                    raise
                yield received.pop()
        finally:
            runner.run(stream.aclose())


def _end_tasks(runner: asyncio.Runner) -> None:
    """Cancel the tasks of an event loop that a signal handler interrupted, so that the loop can close its resources."""

    async def cancel_others() -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    runner.get_loop().set_exception_handler(
        lambda *_: None
    )  # the exit of an interrupted task is not an unnoticed error
    # A task that waited for the interrupted one raises the exit again, and callbacks that it left may stop the loop.
    for _ in range(_MOST_EXITS):
        with suppress(RuntimeError, SystemExit, KeyboardInterrupt):
            runner.run(cancel_others())
            runner.run(asyncio.sleep(0))
            return
