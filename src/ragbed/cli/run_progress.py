"""How the asking of models is shown: a bar each on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from ragbed.cli.console import console, say

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from ragbed.runner.asking import Progress

_QUICK_S = 0.5
"""A shorter run ends before a person could read a bar."""
_DRAW_EVERY_S = 0.1
_SPEED_OF_THE_LAST_S = 600.0
"""From which the time that is left is estimated: a slow model gives a reply a minute."""
_LINE_EVERY_S = 10.0
"""Where there is no terminal, as in a log of CI, a line so often shows that it is alive."""


class RunProgress:
    """Told after every result how the asking of a model goes, and shows it on standard error.

    Args:
        clock: Seconds that only go forwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._bars: Bars | None = None
        self._tasks: dict[str, TaskID] = {}
        self._clock, self._begun, self._last = clock, clock(), clock()
        self._first: dict[str, tuple[float, int]] = {}
        """When a model was first heard of, and how many results it had then."""

    def __enter__(self) -> RunProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def watch(self, model: str, progress: Progress) -> None:
        """Moves the bar of a model, or says a line now and then."""
        now, on_terminal = self._clock(), self._on_terminal
        since, had = self._first.setdefault(model, (now, progress.done))
        if now - self._last < (_DRAW_EVERY_S if on_terminal else _LINE_EVERY_S) and progress.done < progress.total:
            return
        self._last = now
        errors = progress.outcomes.get("error", 0)
        told = f"{progress.tokens_in + progress.tokens_out:,} tokens, {errors:,} errors"
        if not on_terminal:
            pace = tell_pace(progress.done - had, now - since, progress.total - progress.done)
            say(f"{model}: {progress.done:,} of {progress.total:,}{pace}, {told}")
        elif now - self._begun > _QUICK_S:
            self._draw(model, progress, told)

    def _draw(self, model: str, progress: Progress, told: str) -> None:
        if self._bars is None:
            self._bars = _make_bars()
            self._bars.start()
        if model not in self._tasks:
            self._tasks[model] = self._bars.add_task(model, total=progress.total, told="")
        self._bars.update(self._tasks[model], completed=progress.done, told=told)


def tell_pace(done: int, seconds: float, left: int) -> str:
    """How fast it goes, and how long the rest takes, in units that suit; nothing where that cannot be told yet."""
    if done <= 0 or seconds <= 0:
        return ""
    rate = done / seconds
    pace = (
        f", {rate:,.1f}/s" if rate >= 1 else f", {60 * rate:,.1f}/min" if 60 * rate >= 1 else f", {3600 * rate:.1f}/h"
    )
    if not left:
        return pace
    rest = left / rate
    for unit, size, until in (("s", 1, 100), ("min", 60, 100), ("h", 3600, 48), ("days", 86_400, float("inf"))):
        if rest / size < until:
            return f"{pace}, some {rest / size:.0f} {unit} left"
    return pace


def _make_bars() -> Bars:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    told = TextColumn("{task.fields[told]}")
    return Bars(
        *columns, told, console=console(to_stderr=True), transient=True, speed_estimate_period=_SPEED_OF_THE_LAST_S
    )
