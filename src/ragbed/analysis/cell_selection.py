"""Select report cells with a string such as `noise.accuracy@0.8:en`, and check that a run will produce them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec import structs

from ragbed.analysis.locale import read_words
from ragbed.analysis.metrics import METRICS, measure
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.trials.rows import Trial, group_rows, to_trial
from ragbed.errors import UnknownName, UsageError
from ragbed.schema import Case
from ragbed.testbeds import WITHOUT_DOCUMENTS
from ragbed.testbeds.prompts.strategies import MARK

# Verdicts of a hypothetical trial. No real response is both correct and a refusal, but every score is 1 here, because
# some metrics use only trials in which a certain score is 1 and would otherwise have no data.
_VERDICTS = dict.fromkeys(("correct", "partial", "aligned", "refused", "flagged", "misled", "paper.refused"), 1.0)
# Number of repeats needed to predict which cells a run will produce: the first repeat is used to select questions, and
# the second is scored.
_REPEATS = 2

SELECTOR = r"(?P<table>[\w-]+)\.(?P<metric>\w+)(?:@(?P<at>[\w.=]+))?(?::(?P<lang>en|zh))?"
"""The regular expression for selectors."""
# Regular expressions for the names of metrics that share a definition, keyed by the name of the group.
FAMILIES = {
    "outcomes": r"(?:correct|misled|both|refused|other)_(?:un)?flagged",
}
_UNPREDICTABLE = frozenset({"own-rag"})  # tables whose cells depend on the documents that a system retrieves


@dataclass(frozen=True)
class CellSelector:
    """A selector for a metric's cells.

    Attributes:
        text: The option with its value, as entered by the user.
        arm: The condition, e.g. `withheld`; None for the usual one.
    """

    text: str
    table: str
    metric: str
    noise: float | None
    lang: str | None
    arm: str | None


def parse_selector(text: str, match: re.Match[str]) -> CellSelector:
    """Convert a match of the `SELECTOR` pattern to a selector.

    Raises:
        UnknownName: The testbed or the metric does not exist.
        ValueError: The noise ratio is not a number.
    """
    if match["table"] not in METRICS:
        raise UnknownName("testbed", match["table"], METRICS)
    if not _is_defined(match["metric"]):
        raise UnknownName("metric", match["metric"], read_words("en").section("definitions"))
    at = match["at"]
    if match["table"] in WITHOUT_DOCUMENTS:
        return CellSelector(text, match["table"], match["metric"], None, match["lang"], at)
    noise = None if at is None else float(at)
    return CellSelector(text, match["table"], match["metric"], noise, match["lang"], None)


def _is_defined(metric: str) -> bool:
    in_family = any(re.fullmatch(pattern, metric) for pattern in FAMILIES.values())
    return in_family or metric in read_words("en").section("definitions")


class PlannedCells:
    """Predicts a run's cells from its planned cases, using memory proportional to the number of conditions."""

    def __init__(self, repeats: int) -> None:
        self._repeats = range(min(repeats, _REPEATS))
        self._first: dict[tuple[object, ...], str] = {}  # first item in each condition; other items are skipped
        self._trials: list[Trial] = []

    def add(self, case: Case) -> None:
        """Add a planned case if the case is feasible and uses the plain prompt."""
        if not case.feasible or MARK in case.profile:
            return
        condition = (case.data, case.lang, case.testbed, case.noise, case.noise_real, case.true_ratio, case.k, case.arm)
        if self._first.setdefault(condition, case.item) == case.item:
            trial = to_trial(case, "", 0, "ok", _VERDICTS)
            self._trials += [structs.replace(trial, item="", cluster=None, repeat=repeat) for repeat in self._repeats]

    def cells(self, alpha: float | None = None) -> list[Cell]:
        """Return the predicted cells of the robust scorer. Only their keys are meaningful, not their values."""
        return list(measure(group_rows(self._trials), ["robust"], alpha))


def check_planned(selector: CellSelector, cells: Sequence[Cell]) -> list[Cell]:
    """Return the planned cells that match a selector, or an empty list if they depend on retrieved documents.

    Raises:
        UsageError: No planned case measures the metric.
    """
    present = _table_cells(selector, cells)
    if selector.table in _UNPREDICTABLE and any(
        selector.lang in (None, cell.key.lang) and selector.arm in (None, cell.place.get("arm")) for cell in present
    ):
        return []
    try:
        return select_cells(selector, cells)
    except UsageError:
        metrics = [metric for metric in dict.fromkeys(cell.estimate.metric for cell in present) if _is_defined(metric)]
        has_others = metrics and selector.metric not in metrics
        others = f" The available metrics of {selector.table} are {', '.join(metrics)}." if has_others else ""
        kind = "condition" if selector.text.startswith("until=") else "gate"
        raise UsageError(
            f"{selector.text}: no case in this run contributes to this metric.{others} Change the {kind}, or change "
            "the cases with `data`, `testbeds`, `noise`, `num_docs`, `distractors`, `positions`, `lang`, `limit` or "
            "`shard`. No model was called."
        ) from None


def select_cells(selector: CellSelector, cells: Iterable[Cell]) -> list[Cell]:
    """Return the plain-prompt cells that match a selector, for every model, dataset, language and noise ratio.

    Raises:
        UsageError: No cell matches the selector.
    """
    # Use non-default distractor conditions only for metrics that the default condition lacks, such as `noise_effect`.
    table = _table_cells(selector, cells)
    named = [cell for cell in table if cell.estimate.metric == selector.metric]
    if table and not named:
        raise UnknownName(f"metric of {selector.table}", selector.metric, {cell.estimate.metric for cell in table})
    if selector.arm is not None:
        named = [cell for cell in named if cell.place.get("arm") == selector.arm]
    usual = [cell for cell in named if cell.has_usual_distractors]
    selected = [
        cell
        for cell in usual or named
        if selector.lang in (None, cell.key.lang) and selector.noise in (None, cell.place.get("noise"))
    ]
    if not selected:
        raise UsageError(
            f"{selector.text}: the run has no value with this name. `ragbed report RUN -f csv` lists all values."
        )
    if not any(cell.estimate.asked for cell in selected):  # a check of zero cases would always be inconclusive
        raise UsageError(
            f"{selector.text}: all cases for this value are infeasible, because no item has enough documents of "
            "each kind. `ragbed export DATA --to jsonl` counts the infeasible cases."
        )
    return selected


def _table_cells(selector: CellSelector, cells: Iterable[Cell]) -> list[Cell]:
    return [
        cell
        for cell in cells
        if cell.table == selector.table
        and cell.scope == "all"
        and cell.scorer == "robust"
        and MARK not in cell.key.profile
    ]


def describe_cell(cell: Cell) -> str:
    """Describe how a cell differs from the metric's other cells, e.g. `gpt-4o on en_refine, en, noise 0.8, k 5`."""
    shown = {name: value for name, value in cell.place.items() if value is not None and (name, value) != ("correct", 0)}
    place = "".join(
        f", {name} {value:.3g}" if isinstance(value, float) else f", {name} {value}" for name, value in shown.items()
    )
    return f"{cell.key.model} on {cell.key.data}, {cell.key.lang}{place}"
