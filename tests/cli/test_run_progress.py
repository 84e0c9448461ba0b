"""How the progress of a run is shown where there is no terminal."""

from __future__ import annotations

import pytest

from ragbed.api.progress import describe, format_duration
from ragbed.cli.run_progress import RunProgress
from ragbed.runs.call_loop import CallProgress


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(20.4, "20 seconds"), (3_000.0, "50 minutes"), (30_000.0, "8 hours"), (360_000.0, "4 days")],
)
def test_a_duration_is_shown_in_the_unit_that_suits(seconds: float, shown: str) -> None:
    assert format_duration(seconds) == shown


def test_every_outcome_without_a_complete_response_is_counted_separately() -> None:
    outcomes = {"ok": 1, "error": 2, "truncated": 3, "filtered": 4}
    assert describe(CallProgress(total=10, outcomes=outcomes)) == "0 tokens, 2 errors, 3 truncated, 4 filtered"


def test_a_slow_model_announces_its_duration_after_three_cases(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    with RunProgress(clock=lambda: now[0]) as shown:
        for done in range(1, 5):
            now[0] = 30.0 * done
            shown.calls("slow", CallProgress(total=100, done=done, finished=done, seconds_left=30.0 * (100 - done)))
    assert capsys.readouterr().err.splitlines() == [
        "slow: 1 of 100, about 50 minutes left, 0 tokens, 0 errors",
        "slow: 2 of 100, about 49 minutes left, 0 tokens, 0 errors",
        "slow: 97 more cases, about 48 minutes. Press Ctrl-C to stop; finished cases are kept.",
        "slow: 3 of 100, about 48 minutes left, 0 tokens, 0 errors",
        "slow: 4 of 100, about 48 minutes left, 0 tokens, 0 errors",
    ]


def test_a_quick_model_announces_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with RunProgress(clock=lambda: 0.0) as shown:
        for done in range(1, 6):
            shown.calls("quick", CallProgress(total=6, done=done, finished=done, seconds_left=0.1))
    assert capsys.readouterr().err == ""
