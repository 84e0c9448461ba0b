"""Show messages and progress on standard error: bars on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ragbed.api.progress import TerminalBars, describe
from ragbed.cli.console import console, say

if TYPE_CHECKING:
    from ragbed.runs.call_loop import CallProgress

_QUICK_S = 0.5  # Delay in seconds before lines about a task appear; shorter tasks have none.
_LINE_EVERY_S = 10.0  # Seconds between progress lines if there is no terminal, e.g. in a CI log.


class ConsoleProgress(TerminalBars):
    """A display with messages, a bar for each model, and a bar for the current task.

    Args:
        clock: Function that returns monotonic time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._on_terminal = sys.stderr.isatty()
        self._interval = self._interval if self._on_terminal else _LINE_EVERY_S
        self._console = console(to_stderr=True) if self._on_terminal else None
        self._task = ""

    def message(self, text: str) -> None:
        """Remove the current task's bar, then print a message above the other bars."""
        self._end_task()
        if self._bars is None:
            say(text)
        else:
            self._bars.print(text)

    def calls(self, model: str, state: CallProgress) -> None:
        """Update a model's bar, or print occasional lines if there is no terminal."""
        if self._on_terminal:
            super().calls(model, state)
        elif self._is_due(finished=state.done >= state.total):
            say(f"{model}: {state.done:,} of {state.total:,}, {describe(state)}")

    def count(self, task: str, done: int, total: int | None = None) -> None:
        """Update the current task's bar, or print occasional lines if there is no terminal."""
        if task != self._task:
            self._end_task()
            self._task, self._start, self._last = task, self._clock(), self._clock()
        if self._on_terminal:
            super().count(task, done, total)
        elif self._is_due(finished=False) and self._last - self._start > _QUICK_S:
            say(f"{task}: {done:,}" + (f" of {total:,}" if total else ""))

    def _end_task(self) -> None:
        if self._bars is not None and self._task in self._tasks:
            self._bars.remove_task(self._tasks.pop(self._task))
