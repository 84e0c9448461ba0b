"""Progress of a run: a bar for each model on a terminal, a line from time to time elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from ragbed.cli.console import console, say
from ragbed.text import counted

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from ragbed.runs.call_loop import CallProgress

_QUICK_S = 0.5
"""A shorter run ends before a person could read a bar."""
_DRAW_EVERY_S = 0.1
_LINE_EVERY_S = 10.0
"""How often a line is printed where there is no terminal, e.g. in a CI log."""
_ANNOUNCE_AFTER = 3
"""Finished cases from which the duration of a run is announced: seconds after the start."""
_WORTH_ANNOUNCING_S = 60.0


class RunProgress:
    """Shows on standard error how far the evaluation of each model is.

    Args:
        clock: Seconds that only go forwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._bars: Bars | None = None
        self._tasks: dict[str, TaskID] = {}
        self._clock, self._begun, self._last = clock, clock(), clock()
        self._announced: set[str] = set()

    def __enter__(self) -> RunProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def watch(self, model: str, progress: CallProgress) -> None:
        """Move the bar of a model, or print a line from time to time."""
        now, on_terminal = self._clock(), self._on_terminal
        self._announce(model, progress)
        if now - self._last < (_DRAW_EVERY_S if on_terminal else _LINE_EVERY_S) and progress.done < progress.total:
            return
        self._last = now
        tokens, errors = progress.tokens_in + progress.tokens_out, progress.outcomes.get("error", 0)
        counts = f"{counted(tokens, 'token')}, {counted(errors, 'error')}"
        left = "" if progress.seconds_left is None else f"about {format_duration(progress.seconds_left)} left"
        if not on_terminal:
            parts = [f"{progress.done:,} of {progress.total:,}", left * (progress.done < progress.total), counts]
            say(f"{model}: {', '.join(filter(None, parts))}")
        elif now - self._begun > _QUICK_S:
            self._draw(model, progress, ", ".join(filter(None, [left, counts])))

    def _announce(self, model: str, progress: CallProgress) -> None:
        """Print the expected duration once, as soon as a few cases are finished."""
        if model in self._announced or progress.finished < _ANNOUNCE_AFTER or progress.seconds_left is None:
            return
        self._announced.add(model)
        if progress.seconds_left >= _WORTH_ANNOUNCING_S:
            cases, left = counted(progress.total - progress.done, "more case"), format_duration(progress.seconds_left)
            line = f"{model}: {cases}, about {left}. Press Ctrl-C to stop: finished cases are kept."
            say(line) if self._bars is None else self._bars.print(line)

    def _draw(self, model: str, progress: CallProgress, told: str) -> None:
        if self._bars is None:
            self._bars = _make_bars()
            self._bars.start()
        if model not in self._tasks:
            self._tasks[model] = self._bars.add_task(model, total=progress.total, told="")
        self._bars.update(self._tasks[model], completed=progress.done, told=told)


def format_duration(seconds: float) -> str:
    """Return a duration in the unit that suits it, e.g. "24 minutes"."""
    for unit, size, limit in (("seconds", 1, 100), ("minutes", 60, 100), ("hours", 3600, 48)):
        if seconds / size < limit:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:.0f} days"


def _make_bars() -> Bars:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"))
    return Bars(*columns, console=console(to_stderr=True), transient=True)
