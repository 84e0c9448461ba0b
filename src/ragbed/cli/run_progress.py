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
_LINE_EVERY_S = 10.0
"""Where there is no terminal, as in a log of CI, a line so often shows that it is alive."""


class RunProgress:
    """Told after every result how the asking of a model goes, and shows it on standard error.

    Args:
        clock: Seconds that only go forwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._bars: Bars | None = None
        self._tasks: dict[str, TaskID] = {}
        self._clock, self._begun, self._last = clock, clock(), clock()

    def __enter__(self) -> RunProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def watch(self, model: str, progress: Progress) -> None:
        """Moves the bar of a model, or says a line now and then."""
        now, on_terminal = self._clock(), sys.stderr.isatty()
        if now - self._last < (_DRAW_EVERY_S if on_terminal else _LINE_EVERY_S) and progress.done < progress.total:
            return
        self._last = now
        errors = progress.outcomes.get("error", 0)
        told = f"{progress.tokens_in + progress.tokens_out:,} tokens, {errors:,} errors"
        if not on_terminal:
            rate = progress.done / max(now - self._begun, 1e-9)
            say(f"{model}: {progress.done:,} of {progress.total:,}, {rate:,.1f}/s, {told}")
        elif now - self._begun > _QUICK_S:
            self._draw(model, progress, told)

    def _draw(self, model: str, progress: Progress, told: str) -> None:
        if self._bars is None:
            self._bars = _make_bars()
            self._bars.start()
        if model not in self._tasks:
            self._tasks[model] = self._bars.add_task(model, total=progress.total, told="")
        self._bars.update(self._tasks[model], completed=progress.done, told=told)


def _make_bars() -> Bars:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Bars(*columns, TextColumn("{task.fields[told]}"), console=console(to_stderr=True), transient=True)
