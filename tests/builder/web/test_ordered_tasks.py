"""Many at a time, in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest

from ragbed.builder.web.ordered_tasks import in_order, take_turns


def test_results_come_in_order_and_no_more_run_than_may() -> None:
    running, most = [0], [0]

    async def work(number: int) -> int:
        running[0] += 1
        most[0] = max(most[0], running[0])
        await asyncio.sleep(0.001 * (number % 3))
        running[0] -= 1
        return number

    async def plan() -> AsyncIterator[Coroutine[Any, Any, int]]:
        for number in range(20):
            yield work(number)

    async def run() -> list[int]:
        return [number async for number in in_order(plan(), 4)]

    assert asyncio.run(run()) == list(range(20))
    assert most == [4]


def test_a_failure_ends_what_is_under_way() -> None:
    ended: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("no")

    async def plan() -> AsyncIterator[Coroutine[Any, Any, None]]:
        yield fail()
        yield wait()

    async def run() -> None:
        async for _ in in_order(plan(), 2):
            pass

    with pytest.raises(ValueError, match="no"):
        asyncio.run(run())
    assert ended == ["cancelled"]


def test_hosts_take_turns() -> None:
    urls = ["http://a/1", "http://a/2", "http://a/3", "http://b/1", "https://c/1", "nonsense", "http://b/2"]
    turns = ["http://a/1", "http://b/1", "https://c/1", "nonsense", "http://a/2", "http://b/2", "http://a/3"]
    assert list(take_turns(urls, str)) == turns
