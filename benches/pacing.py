"""Measure how well the client adapts to servers that limit calls, stall or fail.

    python -m benches pacing [steady|lifted|parked|faults|narrow|dead …]

Each scenario starts a mock server and calls it through the models' own client as a run does: as many workers as the
model's concurrency, and one more for each case that waits for a retry.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from functools import partial

from ragbed.io.retry import RetryPolicy
from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Model, Parking
from ragbed.schema import Case, Completion, Message
from tests.servers.mock_model import Behaviour, mock_model


def make_case(number: int) -> Case:
    """Return a case with a prompt as long as RGB's."""
    return Case(
        case=f"bench/{number}", data="bench", item=str(number), lang="en", testbed="noise", question="?", noise=0.0,
        noise_real=0.0, k=5, true_ratio=0.0, arm="related", profile="robust", seed=0, feasible=True, documents=(),
        slots=(), messages=(Message(role="user", content=f"{number} " + "of documents " * 240),),
        answer=(("42",),), fake=None, expect="answer",
    )  # fmt: skip


@asynccontextmanager
async def opened(
    *urls: str, patience: RetryPolicy | None = None, connections: int | None = None
) -> AsyncIterator[Model]:
    """Open the model served at the given URLs."""
    environ = {"B_BASE_URL": ",".join(urls)}
    config = partial(ModelConfig, environ=environ, retry_policy=patience or RetryPolicy(), connections=connections)
    model = open_model("openai-api/b/m", config)
    try:
        yield model
    finally:
        await model.close()


async def call_all(model: Model, cases: Iterator[Case], record: Callable[[Completion], None]) -> None:
    """Call a model for all cases, as the runner does."""
    workers, parking = 0, model if isinstance(model, Parking) else None
    async with asyncio.TaskGroup() as group:

        async def work() -> None:
            nonlocal workers
            for case in cases:
                record(await model.complete(case))
                if parking is not None and workers > model.concurrency + parking.parked:
                    break
            workers -= 1

        def start_workers() -> None:
            nonlocal workers
            while workers < model.concurrency + (0 if parking is None else parking.parked):
                workers += 1
                group.create_task(work())

        if parking is not None:
            parking.make_room = start_workers
        start_workers()


def cases_until(end: float) -> Iterator[Case]:
    """Yield cases until the given time."""
    number = 0
    while time.monotonic() < end:
        yield make_case(number)
        number += 1


async def talk(url: str, path: str, body: str | None = None) -> dict[str, object]:
    """Send a request to the server without the client that is measured."""
    import aiohttp  # noqa: PLC0415 - not imported while our client is measured

    method = "GET" if body is None else "POST"
    async with aiohttp.ClientSession() as session, session.request(method, f"{url}/{path}", data=body) as response:
        stats: dict[str, object] = json.loads(await response.read())
        return stats


def between(stats: dict[str, object], kind: str, since: float, until: float) -> float:
    """Return the rate of one kind of response between two times in seconds."""
    seen = stats[kind]
    assert isinstance(seen, dict)
    return sum(int(count) for second, count in seen.items() if since <= int(second) < until) / (until - since)


async def steady() -> None:
    """Allow 50 calls per second."""
    with mock_model(Behaviour(0.1, rate=50)) as url:
        started = int(time.monotonic())
        async with opened(url) as model:
            await call_all(model, cases_until(started + 60), lambda _: None)
        stats = await talk(url, "stats")
    ok, refused = (between(stats, kind, started + 10, started + 59) for kind in ("ok", "refused"))
    print(f"steady: {ok:.1f} of 50/s ({ok / 50:.0%}), {refused / (ok + refused):.1%} refused, after 10 s of warm-up")


async def lifted() -> None:
    """Allow 50 calls per second for 20 s, then remove the limit."""
    with mock_model(Behaviour(0.1, rate=50)) as url:
        started = int(time.monotonic())
        async with opened(url) as model:
            calls = asyncio.create_task(call_all(model, cases_until(started + 60), lambda _: None))
            await asyncio.sleep(20)
            await talk(url, "limit", "0")
            await calls
        stats = await talk(url, "stats")
    full = max(between(stats, "ok", started + second, started + second + 1) for second in range(21, 59))
    back = next(s for s in range(20, 59) if between(stats, "ok", started + s, started + s + 1) >= 0.9 * full)
    print(f"lifted: {full:.0f}/s reached, 90 % of it {back - 20} s after the limit was lifted")


async def parked() -> None:
    """Allow 50 calls per second; every refusal demands a wait of 89 s."""
    with mock_model(Behaviour(0.1, rate=50, retry_after_s=89)) as url:
        started = int(time.monotonic())
        outcomes: Counter[str] = Counter()
        async with opened(url) as model:
            await call_all(model, cases_until(started + 60), lambda done: outcomes.update([done.outcome]))
        stats = await talk(url, "stats")
    slowest = min(between(stats, "ok", started + second, started + second + 5) for second in range(10, 55))
    ok = between(stats, "ok", started + 10, started + 59)
    print(f"parked: {ok:.1f} of 50/s, never below {slowest:.1f}/s over 5 s; {dict(outcomes)}, {stats['early']} early")


async def faults() -> None:
    """Answer 5% of the calls with 429 and Retry-After and 5% with 500; let 1% hang."""
    behaviour = Behaviour(0.05, refused=0.05, failed=0.05, hung=0.01, retry_after_s=1)
    with mock_model(behaviour) as url:
        outcomes: Counter[str] = Counter()
        started = time.monotonic()
        async with opened(url, patience=RetryPolicy(attempt_s=5)) as model:
            cases = (make_case(number) for number in range(1000))
            await call_all(model, cases, lambda done: outcomes.update([done.outcome]))
        spent = time.monotonic() - started
        stats = await talk(url, "stats")
    print(f"faults: {outcomes.total()} of 1000 in {spent:.1f} s, {dict(outcomes)}, {stats['early']} early")


async def narrow() -> None:
    """Use a server with 8 slots, and find the best concurrency."""
    with mock_model(Behaviour(0.05, slots=8)) as url:
        started = int(time.monotonic())
        async with opened(url) as model:
            await call_all(model, cases_until(started + 20), lambda _: None)
            lanes = model._transport._pacer.lanes  # type: ignore[attr-defined]
        stats = await talk(url, "stats")
    ok = between(stats, "ok", started + 10, started + 19)
    print(f"narrow: {ok:.0f} of 160/s with {lanes[0].window.size} concurrent calls")


async def dead() -> None:
    """Use three servers, one of which is unreachable and one of which hangs."""
    outcomes: Counter[str] = Counter()
    with mock_model(Behaviour(0.1)) as sound, mock_model(Behaviour(0.1, hung=1)) as hung:
        started = time.monotonic()
        async with opened(sound, hung, "http://127.0.0.1:9/v1", patience=RetryPolicy(attempt_s=2)) as model:
            cases = (make_case(number) for number in range(3000))
            await call_all(model, cases, lambda done: outcomes.update([done.outcome]))
    print(f"dead: {outcomes.total()} of 3000 in {time.monotonic() - started:.1f} s, {dict(outcomes)}")


SCENARIOS: dict[str, Callable[[], Coroutine[None, None, None]]] = {
    scenario.__name__: scenario for scenario in (steady, lifted, parked, faults, narrow, dead)
}


def main() -> None:
    """Run the scenarios one after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"{', '.join(SCENARIOS)} [default: all]")
    for name in parser.parse_args().scenarios or SCENARIOS:
        asyncio.run(SCENARIOS[name]())
