"""Test the pacer against servers with a limit in virtual time, which is fast and deterministic."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from ragbed.models.providers.pacing import Pacer
from tests.models.virtual import run_virtually


@dataclass
class Server:
    """A server with a token bucket, random refusals and a number of slots."""

    rate: float | None = None
    chance: float = 0.0
    hangs: float = 0.0
    slots: int = 1000
    latency_s: float = 0.1
    lifted_at: float = 1e9
    passed: Counter[int] = field(default_factory=Counter)
    refused: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._begun = self._filled = self._loop.time()
        self._tokens, self._random = 10.0, random.Random(0)
        self._free = asyncio.Semaphore(self.slots)

    @property
    def second(self) -> float:
        return self._loop.time() - self._begun

    async def is_passed(self) -> bool:
        if self._random.random() < self.chance or not self._has_token():
            await asyncio.sleep(0.002)
            self.refused[int(self.second)] += 1
            return False
        if self._random.random() < self.hangs:
            await asyncio.sleep(5)
            raise TimeoutError
        async with self._free:
            await asyncio.sleep(self.latency_s * self._random.uniform(0.8, 1.2))
        self.passed[int(self.second)] += 1
        return True

    def _has_token(self) -> bool:
        if self.rate is None or self.second > self.lifted_at:
            return True
        now = self._loop.time()
        self._tokens, self._filled = min(10.0, self._tokens + (now - self._filled) * self.rate), now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def rates(self, since: int, until: int) -> tuple[float, float]:
        """Return the accepted calls per second and the share of refused ones."""
        passed, refused = (sum(seen[second] for second in range(since, until)) for seen in (self.passed, self.refused))
        return passed / (until - since), refused / (passed + refused)


async def ask_for(seconds: int, pace: Pacer, server: Server) -> None:
    chance = random.Random(1)

    async def work() -> None:
        while server.second < seconds:
            for attempt in range(6):
                await pace.enter()
                started = pace.clock()
                passed = False
                try:
                    passed = await server.is_passed()
                    if passed:
                        pace.responded(pace.clock() - started)
                    else:
                        pace.refused()
                except TimeoutError:
                    pace.count_late()
                finally:
                    pace.leave()
                if passed:
                    break
                await asyncio.sleep(0.5 * 3.0**attempt * chance.uniform(0.5, 1))

    await asyncio.gather(*(work() for _ in range(pace.most)))


def play(seconds: int, **server: float) -> tuple[Server, Pacer]:
    async def scene() -> tuple[Server, Pacer]:
        one = Server(**server)  # type: ignore[arg-type]
        pace = Pacer(64, slow_s=5.0, clock=asyncio.get_running_loop().time)
        await ask_for(seconds, pace, one)
        return one, pace

    return run_virtually(scene())


@pytest.mark.parametrize(("rate", "latency_s"), [(2, 0.1), (10, 1), (50, 0.02), (50, 0.1), (50, 1), (100, 0.1)])
def test_the_allowed_rate_is_used_with_few_refusals(rate: float, latency_s: float) -> None:
    server, _ = play(40, rate=rate, latency_s=latency_s)
    passed, refused = server.rates(15, 39)
    assert passed >= 0.9 * rate
    assert refused <= 0.05


def test_the_full_speed_is_back_soon_after_a_limit_is_lifted() -> None:
    server, _ = play(55, rate=50, lifted_at=20)
    full, _ = server.rates(50, 54)
    assert full > 500
    assert server.rates(49, 50)[0] >= 0.9 * full


def test_refusals_that_do_not_depend_on_the_rate_do_not_reduce_it() -> None:
    server, _ = play(15, chance=0.05)
    assert server.rates(8, 14)[0] > 400


def test_a_few_calls_that_hang_do_not_reduce_the_rate() -> None:
    server, pace = play(20, chance=0.05, hangs=0.01)
    assert pace.window == 64
    assert server.rates(8, 19)[0] > 200


def test_one_call_every_five_seconds_is_sent_if_all_are_refused() -> None:
    server, _ = play(60, chance=1)
    assert 0.15 <= sum(server.refused[second] for second in range(20, 60)) / 40 <= 0.3


@pytest.mark.parametrize("per_minute", [10, 15])
def test_few_calls_are_refused_if_the_server_allows_only_a_few_calls_per_minute(per_minute: int) -> None:
    server, _ = play(400, rate=per_minute / 60)
    passed, refused = server.rates(100, 399)
    assert passed >= 0.9 * per_minute / 60
    assert refused <= 0.35


@pytest.mark.parametrize(
    ("slots", "latency_s", "window"),
    [(2, 1, range(8, 14)), (8, 1, range(30, 50)), (1000, 6, range(64, 65))],
)
def test_the_concurrency_falls_until_responses_are_in_time(slots: int, latency_s: float, window: range) -> None:
    """The limit is 5 s; a model that always takes longer is not slowed down."""
    server, pace = play(300, slots=slots, latency_s=latency_s)
    assert pace.window in window
    assert server.rates(100, 290)[0] >= 0.9 * min(slots, 64) / latency_s


def test_timeouts_reduce_the_concurrency() -> None:
    pace = Pacer(64, slow_s=60.0)
    pace.count_late()
    assert pace.window == 44
    for _ in range(19):
        pace.responded()
    pace.count_late()
    assert pace.window == 44  # one in twenty is none too many
    for _ in range(30):
        pace.responded()
    assert pace.window == 45


def test_requests_per_minute_are_spread_evenly() -> None:
    async def scene() -> list[float]:
        clock = asyncio.get_running_loop().time
        pace, start_times = Pacer(64, per_s=2, clock=clock), []
        for _ in range(5):
            await pace.enter()
            start_times.append(clock())
            pace.leave()
        return start_times

    assert [moment - 1000 for moment in run_virtually(scene())] == pytest.approx([0, 0.5, 1, 1.5, 2])


def test_a_cancelled_waiter_leaves_no_gap() -> None:
    async def scene() -> None:
        pace = Pacer(1, clock=asyncio.get_running_loop().time)
        await pace.enter()
        impatient, patient = asyncio.create_task(pace.enter()), asyncio.create_task(pace.enter())
        await asyncio.sleep(1)
        impatient.cancel()
        pace.leave()
        await asyncio.wait_for(patient, 1)
        third = asyncio.create_task(pace.enter())
        await asyncio.sleep(0)
        pace.leave()  # the place is given to the third in the same moment in which it gives up
        third.cancel()
        await asyncio.gather(third, return_exceptions=True)
        await asyncio.wait_for(pace.enter(), 1)

    run_virtually(scene())
