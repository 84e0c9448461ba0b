"""The estimate of the remaining time is within a factor of 1.5 after a twentieth of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.data.catalog import open_data
from ragbed.runs.store import CallRequest, open_store
from ragbed.runs.time_left import TimeLeft
from ragbed.testbeds import DEFAULT_TESTBEDS, TESTBEDS
from ragbed.testbeds.settings import Settings


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def seconds_of(ask: CallRequest) -> float:
    """Return the time of a small model on two cores: 80 characters per millisecond in, 40 tokens per second out."""
    tokens = 30 if ask.case.documents else 50
    return ask.size / 800 + (tokens + ask.number % 7 * 10) / 40


@pytest.mark.parametrize("kinds", [("base",), ("fact",), ("base", "int", "fact")])
@pytest.mark.parametrize("by_prompt", [True, False])
def test_it_is_right_after_a_twentieth_of_a_run(kinds: tuple[str, ...], by_prompt: bool, tmp_path: Path) -> None:
    datasets = open_data([f"ragbed-mini-en_{kind}" for kind in kinds])
    clock = Clock()
    with open_store(tmp_path, create=True) as store:
        store.plan(
            {},
            (case for data in datasets for bed in DEFAULT_TESTBEDS for case in TESTBEDS[bed].cases(data, Settings())),
        )
        asks = list(store.pending(1, 1, by_prompt=by_prompt))
        estimate = TimeLeft(*store.work(1), clock)
    for ask in asks[: -(-len(asks) // 20)]:
        clock.now += seconds_of(ask)
        estimate.add(ask.size, seconds_of(ask))
    actual = sum(map(seconds_of, asks)) - clock.now
    assert estimate.seconds() == pytest.approx(actual, rel=0.5)
    assert clock.now > 0


def test_what_was_cached_took_no_time_and_says_nothing_of_the_rest() -> None:
    clock = Clock()
    estimate = TimeLeft(100, 1_000, clock)
    for _ in range(50):
        estimate.skip(10)
    assert estimate.seconds() is None
    clock.now = 4.0
    estimate.add(10, 4.0)
    assert estimate.seconds() == pytest.approx(49 * 4.0)


def test_cases_in_flight_count_as_half_done() -> None:
    clock = Clock()
    estimate = TimeLeft(640, 6_400, clock)
    clock.now = 2.0
    for _ in range(20):
        estimate.add(10, 2.0)
    assert estimate.seconds(in_flight=64) == pytest.approx(620 / 32, rel=0.5)
