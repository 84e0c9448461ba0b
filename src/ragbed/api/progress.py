"""Show the progress of API functions as bars in terminals and notebooks, or send it to the caller's object."""

from __future__ import annotations

import logging
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from ragbed.errors import UsageError
from ragbed.text import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from ragbed.runs.call_loop import CallProgress

_LOGGER = logging.getLogger("ragbed")


class Progress:
    """A receiver for messages and progress updates from an API function.

    Subclass `Progress` and pass an instance as `progress=` to show updates elsewhere.

    Example:
        >>> class Log(ragbed.Progress):
        ...     def calls(self, model, state):
        ...         if state.done == state.total:
        ...             print(f"{model}: {state.done} of {state.total}")
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="rejection", limit=5, progress=Log())
        scripted/oracle: 5 of 5
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def message(self, text: str) -> None:
        """Show a message, e.g. a warning. By default, messages go to the `ragbed` logger."""
        _LOGGER.warning("%s", text)

    def calls(self, model: str, state: CallProgress) -> None:
        """Show how many of a model's calls are finished: `state.done` of `state.total`."""

    def count(self, task: str, done: int, total: int | None = None) -> None:
        """Show how many units of a task are finished."""

    def close(self) -> None:
        """Remove the progress display when the function ends."""


class Bars(Progress, ABC):
    """A display that shows each model's calls and the current task, unless they finish almost at once.

    Args:
        clock: Function that returns monotonic time in seconds.
        interval_s: Time between two updates.
        delay_s: Time before the first update.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, interval_s: float = 0.1, delay_s: float = 0.5
    ) -> None:
        self._clock, self._interval_s, self._delay_s = clock, interval_s, delay_s
        self._start = self._last = clock()
        self._task = ""

    def calls(self, model: str, state: CallProgress) -> None:
        """Show how many of a model's calls are finished."""
        if self._is_due(finished=state.done >= state.total):
            self._draw(model, state.done, state.total, describe(state))

    def count(self, task: str, done: int, total: int | None = None) -> None:
        """Show how many units of the current task are finished."""
        if task != self._task:
            self._end_task()
            self._task, self._start = task, self._clock()
            self._last = self._start
        if self._is_due(finished=False):
            self._draw(task, done, total, "")

    def _is_due(self, *, finished: bool) -> bool:
        now = self._clock()
        if now - self._last < self._interval_s and not finished:
            return False
        self._last = now
        return now - self._start >= self._delay_s

    def _end_task(self) -> None:
        """Remove the current task from the display."""

    @abstractmethod
    def _draw(self, task: str, done: int, total: int | None, details: str) -> None: ...


class Lines(Bars):
    """Periodic lines, for output that is not a terminal, e.g. the log of a CI job."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock, interval_s=10, delay_s=0)
        self._say = say

    def message(self, text: str) -> None:
        """Print a message."""
        self._say(text)

    def _draw(self, task: str, done: int, total: int | None, details: str) -> None:
        self._say(f"{task}: {done:,}" + (f" of {total:,}" if total else "") + (f", {details}" if details else ""))


class TerminalBars(Bars):
    """Terminal progress bars that are removed at the end of a run. `say` shows messages while there is no bar."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        console: Console | None = None,
        say: Callable[[str], None] = _LOGGER.warning,
    ) -> None:
        super().__init__(clock)
        self._console, self._say = console, say
        self._bars: RichProgress | None = None
        self._tasks: dict[str, TaskID] = {}

    def message(self, text: str) -> None:
        """Remove the current task's bar, then print a message above the other bars."""
        self._end_task()
        if self._bars is None:
            self._say(text)
        else:
            self._bars.print(text)

    def _end_task(self) -> None:
        if self._bars is not None and self._task in self._tasks:
            self._bars.remove_task(self._tasks.pop(self._task))

    def _draw(self, task: str, done: int, total: int | None, details: str) -> None:
        if self._bars is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as RichProgress

            columns = [
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[details]}"),
            ]
            stderr = self._console or Console(stderr=True, highlight=False, emoji=False, markup=False)
            self._bars = RichProgress(*columns, console=stderr, transient=True)
            self._bars.start()
        if task not in self._tasks:
            self._tasks[task] = self._bars.add_task(task, total=total, details="")
        self._bars.update(self._tasks[task], completed=done, total=total, details=details)

    def close(self) -> None:
        """Remove the bars."""
        if self._bars is not None:
            self._bars.stop()


class NotebookBars(Bars):
    """Notebook progress bars that remain below the cell after a run."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._lines: dict[str, str] = {}
        self._handle: Any = None

    def _draw(self, task: str, done: int, total: int | None, details: str) -> None:
        from html import escape

        from IPython.display import HTML, display  # type: ignore[import-not-found]  # always installed in a notebook

        bar = f"<progress value='{done}' max='{total or 0}'></progress>" if total else ""
        of = f" of {total:,}" if total else ""
        self._lines[task] = f"<div>{escape(task)} {bar} {done:,}{of} {escape(details)}</div>"
        content = HTML("".join(self._lines.values()))
        if self._handle is None:
            self._handle = display(content, display_id=True)
        else:
            self._handle.update(content)


def open_progress(option: bool | Progress) -> Progress:
    """Return the object that receives the progress updates.

    Args:
        option: True for bars in terminals and notebooks, False for messages only, or the caller's `Progress` object.

    Raises:
        UsageError: The option is neither a boolean nor a `Progress` object.
    """
    if isinstance(option, Progress):
        return option
    if not isinstance(option, bool):
        raise UsageError(f"progress={option!r} is not valid. Use True, False or a ragbed.Progress object.")
    if option and _in_notebook():
        return NotebookBars()
    return TerminalBars() if option and sys.stderr.isatty() else Progress()


def _in_notebook() -> bool:
    ipython: Any = sys.modules.get("IPython")
    return hasattr(ipython.get_ipython() if ipython is not None else None, "kernel")


def describe(state: CallProgress) -> str:
    """Describe the remaining time, tokens and outcomes, e.g. "about 2 hours left, 1,204 tokens, 0 errors"."""
    has_estimate = state.seconds_left is not None and state.done < state.total
    parts = [f"about {format_duration(state.seconds_left or 0)} left"] if has_estimate else []
    parts += [counted(state.tokens_in + state.tokens_out, "token"), counted(state.outcomes.get("error", 0), "error")]
    parts += [f"{state.outcomes[name]:,} {name}" for name in ("truncated", "filtered") if state.outcomes.get(name)]
    return ", ".join(parts)


def format_duration(seconds: float) -> str:
    """Format a duration in a suitable unit, e.g. "24 minutes"."""
    for unit, size, limit in (("seconds", 1, 100), ("minutes", 60, 100), ("hours", 3600, 48)):
        if seconds / size < limit:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:.0f} days"
