"""Many at a time, given in the order in which they were begun, so that what is made of them is always the same."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from typing import Any, TypeVar

Thing = TypeVar("Thing")


async def in_order(work: AsyncIterator[Coroutine[Any, Any, Thing]], at_once: int) -> AsyncIterator[Thing]:
    """Runs pieces of work, so many at a time, and gives their results in order."""
    under_way = deque[asyncio.Future[Thing]]()
    try:
        async for one in work:
            under_way.append(asyncio.ensure_future(one))
            if len(under_way) >= at_once:
                yield await under_way[0]
                under_way.popleft()
        while under_way:
            yield await under_way[0]
            under_way.popleft()
    finally:
        for left in under_way:
            left.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


def take_turns(things: Iterable[Thing], url_of: Callable[[Thing], str]) -> Iterator[Thing]:
    """Things with addresses in an order in which hosts take turns, so that few of those under way wait for one host."""
    queues: dict[str, deque[Thing]] = defaultdict(deque)
    for thing in things:
        queues["/".join(url_of(thing).split("/", 3)[:3])].append(thing)
    while queues:
        for host in list(queues):
            yield queues[host].popleft()
            if not queues[host]:
                del queues[host]
