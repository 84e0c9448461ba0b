"""Progress without a terminal: a line from time to time, and none for quick tasks."""

from __future__ import annotations

import pytest

from ragbed.api.progress import Lines, describe, format_duration
from ragbed.cli.console import say
from ragbed.runs.call_loop import CallProgress


def test_a_slow_task_prints_a_line_from_time_to_time(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    with Lines(say, lambda: now[0]) as progress:
        for second in range(25):
            now[0] = float(second)
            progress.count("pages", 100 * second, 5000)
        progress.count("passages", 7)
    assert capsys.readouterr().err == "pages: 1,000 of 5,000\npages: 2,000 of 5,000\n"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(20.4, "20 seconds"), (3_000.0, "50 minutes"), (30_000.0, "8 hours"), (360_000.0, "4 days")]
)
def test_a_duration_is_shown_in_the_unit_that_suits(seconds: float, shown: str) -> None:
    assert format_duration(seconds) == shown


def test_every_outcome_without_a_complete_response_is_counted_separately() -> None:
    outcomes = {"ok": 1, "error": 2, "truncated": 3, "filtered": 4}
    assert describe(CallProgress(total=10, outcomes=outcomes)) == "0 tokens, 2 errors, 3 truncated, 4 filtered"


def test_a_slow_model_prints_its_remaining_time(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    with Lines(say, clock=lambda: now[0]) as shown:
        for done in (1, 2):
            now[0] = 30.0 * done
            shown.calls("slow", CallProgress(total=2, done=done, finished=done, seconds_left=3_000.0))
    assert capsys.readouterr().err.splitlines() == [
        "slow: 1 of 2, about 50 minutes left, 0 tokens, 0 errors",
        "slow: 2 of 2, 0 tokens, 0 errors",
    ]
