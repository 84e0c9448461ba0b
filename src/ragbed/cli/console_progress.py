"""Messages and progress of API functions on standard error: bars on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragbed.api.progress import Progress
from ragbed.cli.console import console, say
from ragbed.cli.run_progress import RunProgress
from ragbed.errors import Stopped

if TYPE_CHECKING:
    from ragbed.cli.progress import DownloadProgress

_QUICK_S = 0.5  # A shorter task ends before anybody could read its bar.


class ConsoleProgress(RunProgress):
    """Shows messages, a bar for each model, and a bar for the current task.

    Args:
        clock: Seconds that only go forwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._task = ""

    def message(self, text: str) -> None:
        """Print a message, after removing the bar of the current task."""
        self._end_task()
        super().message(text)

    def count(self, task: str, done: int, total: int | None = None) -> None:
        """Move the bar of the current task, or print a line from time to time."""
        if task != self._task:
            self._end_task()
            self._task, self._start, self._last = task, self._clock(), self._clock()
        if self._on_terminal:
            self._console = self._console or console(to_stderr=True)
            super().count(task, done, total)
        elif self._is_due(finished=False) and self._last - self._start > _QUICK_S:
            say(f"{task}: {done:,}" + (f" of {total:,}" if total else ""))

    def _end_task(self) -> None:
        if self._bars is not None and self._task in self._tasks:
            self._bars.remove_task(self._tasks.pop(self._task))


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
