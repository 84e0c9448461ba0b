"""Run tasks concurrently, and yield results in the order in which the tasks started, so builds are deterministic."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from typing import Any, TypeVar

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
