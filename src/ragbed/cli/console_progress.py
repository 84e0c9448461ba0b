"""Messages and progress of API functions on standard error: bars on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragbed.api.progress import Progress
from ragbed.cli.console import console, say
from ragbed.cli.run_progress import RunProgress
from ragbed.errors import Stopped

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from ragbed.cli.progress import DownloadProgress
    from ragbed.runs.call_loop import CallProgress

_DRAW_EVERY_S = 0.1
_LINE_EVERY_S = 10.0  # A line from time to time shows in a CI log that the process is alive.
_QUICK_S = 0.5  # A shorter task ends before anybody could read its bar.


class ConsoleProgress(Progress):
    """Shows messages, and a bar for each model or for the current task.

    Args:
        clock: Returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._last, self._started = clock, clock(), clock()
        self._task = ""
        self._bars: Bars | None = None
        self._calls: RunProgress | None = None

    def message(self, text: str) -> None:
        """Print a message, after removing the bar of the current task."""
        self._end_task()
        say(text)

    def calls(self, model: str, state: CallProgress) -> None:
        """Move the bar of a model."""
        if self._calls is None:
            self._calls = RunProgress(self._clock).__enter__()
        self._calls.watch(model, state)

    def count(self, task: str, done: int, total: int | None = None) -> None:
        """Move the bar of the current task, or print a line from time to time."""
        now = self._clock()
        if task != self._task:
            self._end_task()
            self._task, self._started, self._last = task, now, now
        on_terminal = sys.stderr.isatty()
        if now - self._last < (_DRAW_EVERY_S if on_terminal else _LINE_EVERY_S) or now - self._started < _QUICK_S:
            return
        self._last = now
        if on_terminal:
            self._draw(done, total)
        else:
            say(f"{self._task}: {done:,}" + (f" of {total:,}" if total else ""))

    def close(self) -> None:
        """Remove all bars."""
        self._end_task()
        if self._calls is not None:
            self._calls.__exit__(None, None, None)
            self._calls = None

    def _end_task(self) -> None:
        if self._bars is not None:
            self._bars.stop()
        self._bars, self._task = None, ""

    def _draw(self, done: int, total: int | None) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        if self._bars is None:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bars = Bars(*columns, console=console(to_stderr=True), transient=True)
            self._bars.add_task(self._task, total=total)
            self._bars.start()
        self._bars.update(self._bars.task_ids[0], completed=done, total=total)


class _DownloadBars(ConsoleProgress):
    """Shows a bar with megabytes for each file."""

    def __init__(self, bars: DownloadProgress) -> None:
        super().__init__()
        self._downloads = bars

    def count(self, task: str, done: int, total: int | None = None) -> None:
        """Move the bar of a file."""
        self._downloads.advance(task, done, total)


@contextmanager
def download_progress() -> Iterator[Progress]:
    """Show the progress of downloads."""
    from ragbed.cli.progress import DownloadProgress

    with DownloadProgress() as bars, _DownloadBars(bars) as progress:
        yield progress


@contextmanager
def resumable(message: str) -> Iterator[None]:
    """Print how to resume, if the user or the system interrupts the block."""
    try:
        yield
    except (KeyboardInterrupt, Stopped):
        say(message)
        raise
