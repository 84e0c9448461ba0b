"""How a download is shown: a bar on a terminal, now and then a line elsewhere, nothing if it is quick."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

from ragbed.cli.console import console, say

_QUICK_S = 0.5
"""Shorter downloads end before a person could read a bar."""
_LINE_EVERY_S = 10.0
"""Where there is no terminal, as in a log of CI, a line so often shows that it is alive."""


class DownloadProgress:
    """Told by a download how it goes, and shows it on standard error.

    Args:
        clock: Seconds that only go forwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

        self._out = console(to_stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self._bars = Progress(*columns, console=self._out, transient=True)
        self._tasks: dict[str, TaskID] = {}
        self._done: dict[str, int] = {}
        self._clock, self._begun, self._last_line = clock, clock(), clock()

    def __enter__(self) -> DownloadProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars.live.is_started:
            self._bars.stop()

    def advance(self, name: str, done: int, total: int | None) -> None:
        """Moves the bar of a file."""
        self._done[name] = done
        if self._out.is_terminal:
            if name not in self._tasks:
                self._tasks[name] = self._bars.add_task(name, total=total)
            self._bars.update(self._tasks[name], completed=done, total=total)
            if not self._bars.live.is_started and self._clock() - self._begun > _QUICK_S:
                self._bars.start()
        elif self._clock() - self._last_line > _LINE_EVERY_S:
            self._last_line = self._clock()
            say(f"{sum(self._done.values()) / 1e6:,.1f} MB so far")
