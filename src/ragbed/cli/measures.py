"""What runs say of each ability: trials scored and measured, as commands print them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.errors import UsageError

if TYPE_CHECKING:
    from ragbed.metrics.cells import Cell
    from ragbed.metrics.trial import Scored

TRACKS = ("robust", "code", "paper")
_FEW = 30
"""Questions or trials; with fewer an interval is some 35 points wide at 50 %."""
_SHOWN = {
    "noise": ("accuracy", "rho10", "auc", "retention", "first_decline", "related_minus_random", "noise_effect"),
    "position": ("order_robustness", "position_p"),
    "rejection": ("refusal_recall", "false_refusal", "refusal_f1", "balanced_accuracy", "correct_without_evidence"),
    "integration": ("accuracy", "rho10", "sub_answer_recall", "aligned_accuracy"),
    "counterfactual": ("accuracy", "misled_at_all", "error_detection", "false_alarm", "resistance_of_known"),
    "closed-book": ("accuracy", "refusal"),
    "transitions": ("no_degradation",),
}
"""What is printed of each table; --json tells all."""


def measure_runs(runs: Sequence[Path]) -> list[Cell]:
    """Every metric of every track.

    Raises:
        UsageError: Two runs hold the same call, which would count twice.
    """
    from ragbed.metrics import measure

    return list(measure(_trials(runs), TRACKS))


def _trials(runs: Sequence[Path]) -> Iterator[Scored]:
    """Everything that was asked or could not be, with its scores."""
    from ragbed.metrics.trial import to_scored
    from ragbed.run.store import open_store
    from ragbed.scorers import score

    seen: set[int] = set()  # hashes, since names of a million cases would fill the memory
    for folder in runs:
        with open_store(folder, create=False) as store:
            models = [name for name, _ in store.models().values()]
            for case in store.cases():
                if not case.feasible:
                    yield from (to_scored(case, model, 0, "infeasible", None) for model in models)
            for result in store.results():
                if len(runs) > 1:
                    _note(seen, hash((result.model, result.case.case, result.repeat)), folder, result.case.case)
                outcome, reply = result.completion.outcome, result.completion.reply
                scores = score(result.case, reply or "") if outcome == "ok" else None
                yield to_scored(result.case, result.model, result.repeat, outcome, scores)


def _note(seen: set[int], call: int, folder: Path, case: str) -> None:
    if call in seen:
        raise UsageError(f"{folder} holds a result that another of these runs holds too ({case}); name one of them.")
    seen.add(call)


def print_measures(cells: Sequence[Cell], track: str | None, *, to_stderr: bool) -> None:
    """Prints one table a model and dataset.

    Args:
        cells: All of them.
        track: Whose scores; the first there are if it is None.
        to_stderr: Where to.
    """
    from ragbed.cli.console import print_table, say

    there = [name for name in TRACKS if any(cell.track == name for cell in cells)]
    columns = ("table", "metric", "at", "value", "95 % interval", "n", "asked", "errors", "infeasible")
    tables: dict[str, list[tuple[object, ...]]] = {}
    for cell in cells:
        wanted = cell.track == (track or there[0]) and cell.scope == "all"
        if wanted and cell.estimate.metric in _SHOWN[cell.table]:
            key = cell.key
            title = f"{key.model} on {key.data} ({key.lang}), profile {key.profile}, track {cell.track}"
            tables.setdefault(title, []).append(_row(cell))
    for title, rows in tables.items():
        print_table(title, columns, rows, to_stderr=to_stderr)
    if any(cell.estimate.n < _FEW for cell in cells if cell.estimate.value is not None):
        say(f"Where n is under {_FEW}, read the interval and not the value.")


def _row(cell: Cell) -> tuple[object, ...]:
    told = cell.estimate
    at = ", ".join(f"{name} {value:g}" if name != "arm" else str(value) for name, value in _place(cell)) or "–"
    bounds = "–" if told.low is None and told.high is None else f"{_show(told.low)} … {_show(told.high)}"
    return (cell.table, told.metric, at, _show(told.value), bounds, told.n, told.asked, told.errors, told.infeasible)


def _place(cell: Cell) -> Iterator[tuple[str, float | str]]:
    for name, value in cell.place.items():
        if isinstance(value, int | float | str):
            yield ("docs" if name == "k" else "true" if name == "correct" else name), value


def _show(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
