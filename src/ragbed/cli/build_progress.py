"""How a build is shown: one bar for the step at work on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from ragbed.cli.console import console, say

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_DRAW_EVERY_S = 0.1
_LINE_EVERY_S = 10.0
"""Where there is no terminal, as in a log of CI, a line so often shows that it is alive."""
_QUICK_S = 0.5
"""A shorter step ends before a person could read a bar."""


class StepProgress:
    """Told after every record how a step goes, and shows it on standard error."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._last, self._begun = clock, clock(), clock()
        self._step = ""
        self._bars: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> StepProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end_step()

    def watch(self, step: str, done: int, total: int | None) -> None:
        """Moves the bar of the step at work, or says a line now and then."""
        now, on_terminal = self._clock(), sys.stderr.isatty()
        if step != self._step:
            self.end_step()
            self._step, self._begun, self._last = step, now, now
        if now - self._last < (_DRAW_EVERY_S if on_terminal else _LINE_EVERY_S) or now - self._begun < _QUICK_S:
            return
        self._last = now
        if on_terminal:
            self._draw(step, done, total)
        else:
            say(f"{step}: {done:,}" + (f" of {total:,}" if total else ""))

    def end_step(self) -> None:
        """Takes the bar away, before anything else is printed."""
        if self._bars is not None:
            self._bars.stop()
        self._bars, self._task, self._step = None, None, ""

    def _draw(self, step: str, done: int, total: int | None) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        if self._bars is None or self._task is None:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bars = Progress(*columns, console=console(to_stderr=True), transient=True)
            self._task = self._bars.add_task(step, total=total)
            self._bars.start()
        self._bars.update(self._task, completed=done, total=total)
