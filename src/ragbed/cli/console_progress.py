"""Show messages and progress on standard error: bars on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ragbed.api.progress import TerminalBars, describe, format_duration, time_left
from ragbed.cli.console import console, say
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.runs.call_loop import CallProgress

_QUICK_S = 0.5  # Delay in seconds before lines about a task appear; shorter tasks have none.
_LINE_EVERY_S = 10.0  # Seconds between progress lines if there is no terminal, e.g. in a CI log.
_ANNOUNCE_AFTER = 3  # Number of finished cases after which to announce the expected duration.
_WORTH_ANNOUNCING_S = 60.0


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
        self._announced: set[str] = set()
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
        self._announce(model, state)
        if self._on_terminal:
            super().calls(model, state)
        elif self._is_due(finished=state.done >= state.total):
            left = time_left(state) if state.done < state.total else ""
            parts = [f"{state.done:,} of {state.total:,}", left, describe(state)]
            say(f"{model}: {', '.join(filter(None, parts))}")

    def count(self, task: str, done: int, total: int | None = None) -> None:
        """Update the current task's bar, or print occasional lines if there is no terminal."""
        if task != self._task:
            self._end_task()
            self._task, self._start, self._last = task, self._clock(), self._clock()
        if self._on_terminal:
            super().count(task, done, total)
        elif self._is_due(finished=False) and self._last - self._start > _QUICK_S:
            say(f"{task}: {done:,}" + (f" of {total:,}" if total else ""))

    def _announce(self, model: str, state: CallProgress) -> None:
        """Print the expected duration once, as soon as a few cases are finished."""
        if model in self._announced or state.finished < _ANNOUNCE_AFTER or state.seconds_left is None:
            return
        self._announced.add(model)
        if state.seconds_left >= _WORTH_ANNOUNCING_S:
            cases, left = counted(state.total - state.done, "more case"), format_duration(state.seconds_left)
            self.message(f"{model}: {cases}, about {left}. Press Ctrl-C to stop; finished cases are kept.")

    def _end_task(self) -> None:
        if self._bars is not None and self._task in self._tasks:
            self._bars.remove_task(self._tasks.pop(self._task))
