"""How a build is shown where there is no terminal: a line now and then, and none for what is quick."""

from __future__ import annotations

import pytest

from ragbed.cli.build_progress import StepProgress


def test_a_slow_step_says_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    with StepProgress(lambda: now[0]) as progress:
        for second in range(25):
            now[0] = float(second)
            progress.watch("pages", 100 * second, 5000)
        progress.watch("passages", 7, None)
    assert capsys.readouterr().err == "pages: 1,000 of 5,000\npages: 2,000 of 5,000\n"
