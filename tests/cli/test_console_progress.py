"""Progress without a terminal: a line from time to time, and none for quick tasks."""

from __future__ import annotations

import pytest

from ragbed.cli.console_progress import ConsoleProgress, resumable


def test_a_slow_task_prints_a_line_from_time_to_time(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    with ConsoleProgress(lambda: now[0]) as progress:
        for second in range(25):
            now[0] = float(second)
            progress.count("pages", 100 * second, 5000)
        progress.count("passages", 7)
    assert capsys.readouterr().err == "pages: 1,000 of 5,000\npages: 2,000 of 5,000\n"


def test_an_interrupted_command_says_how_to_resume(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), resumable("Run the same command again."):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "Run the same command again.\n"
