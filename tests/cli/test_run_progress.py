"""How the asking of a model is shown where there is no terminal."""

from __future__ import annotations

import pytest

from ragbed.cli.run_progress import RunProgress, tell_pace
from ragbed.runner.asking import Progress


@pytest.mark.parametrize(
    ("done", "seconds", "left", "told"),
    [
        (0, 60.0, 300, ""),
        (50, 10.0, 100, ", 5.0/s, some 20 s left"),
        (12, 120.0, 300, ", 6.0/min, some 50 min left"),
        (2, 600.0, 100, ", 12.0/h, some 8 h left"),
        (2, 7200.0, 100, ", 1.0/h, some 4 days left"),
        (30, 10.0, 0, ", 3.0/s"),
    ],
)
def test_pace_and_rest_are_told_in_units_that_suit(done: int, seconds: float, left: int, told: str) -> None:
    assert tell_pace(done, seconds, left) == told


def test_a_slow_model_says_how_long_it_will_take(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    with RunProgress(clock=lambda: now[0]) as shown:
        for done in range(1, 4):
            now[0] = 30.0 * done
            shown.watch("slow", Progress(total=100, done=done))
    assert capsys.readouterr().err.splitlines() == [
        "slow: 1 of 100, 0 tokens, 0 errors",
        "slow: 2 of 100, 2.0/min, some 49 min left, 0 tokens, 0 errors",
        "slow: 3 of 100, 2.0/min, some 48 min left, 0 tokens, 0 errors",
    ]
