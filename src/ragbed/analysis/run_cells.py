"""Compute the cells of a report from the trials of one or more runs, and the cost of the responses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import structs

from ragbed.analysis.metrics import measure
from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.statistics.rates import ALPHA
from ragbed.analysis.trials.columns import Labels, TrialColumns, load_groups
from ragbed.analysis.trials.table import TrialTable
from ragbed.errors import UsageError
from ragbed.runs.decided import DecidedInterval, read_conditions, read_decided
from ragbed.runs.display_names import RowNames, read_row_names
from ragbed.runs.store import open_scored
from ragbed.scoring import open_scorers


def read_groups(
    folders: Sequence[Path], scorers: Sequence[str] = (), labels: Labels | None = None, *, current: bool = False
) -> list[TrialColumns]:
    """Return the trials of all runs, grouped by model, dataset, language and profile.

    Args:
        folders: Folders of the runs.
        scorers: The scorers whose scores are needed.
        labels: The labels under which the models are counted (see `RowNames`); by default, the model strings.
        current: Whether all scores must be from the installed version of the scorer (see `TrialTable`).

    Raises:
        UsageError: Two runs contain the same call or different data with the same name, or a scorer does not exist.
    """
    _check_data(folders)
    with ExitStack() as stack:
        tables = [stack.enter_context(TrialTable(folder, scorers, current=current)) for folder in folders]
        for table in tables:
            table.update()
        return load_groups(tables, labels)


def read_report_cells(
    folders: Sequence[Path],
    scorers: Sequence[str],
    alpha: float = ALPHA,
    names: RowNames | None = None,
    *,
    current: bool = False,
) -> list[Cell]:
    """Return the report cells for all runs combined.

    Args:
        folders: Folders of the runs.
        scorers: The scorers whose scores are used.
        alpha: Error probability of the intervals if any of the runs was monitored (`--until`).
        names: The names of the models, if they must be unique across more runs than these.
        current: Whether all scores must be from the installed version of the scorer (see `TrialTable`).

    Raises:
        UsageError: Two runs contain the same call or different data with the same name, or a scorer does not exist.
    """
    open_scorers(scorers)  # an unknown scorer is refused first
    groups = read_groups(folders, scorers, (names or read_row_names(folders)).labels, current=current)
    return [*measure(groups, scorers, alpha), *cost_cells(groups, scorers)]


def read_published(folders: Sequence[Path], labels: Labels) -> dict[tuple[str, str], str]:
    """Return the names of RGB's files, by label and dataset, for datasets that are identical to them.

    Runs with custom instructions are omitted, because the paper's numbers are based on the original ones.
    """
    published: dict[tuple[str, str], str] = {}
    for folder in folders:
        with open_scored(folder) as store:
            settings = store.settings()
            for name, file in settings.items():
                if name.startswith("published ") and settings.get("prompt", "shipped") == "shipped":
                    data = name.removeprefix("published ")
                    published |= {(labels[folder, model], data): file for model, _ in store.models().values()}
    return published


def is_monitored(folder: Path) -> bool:
    """Return whether a run was monitored, i.e. started with `--until`."""
    with open_scored(folder) as store:
        return store.is_monitored()


def count_results(folder: Path) -> tuple[int, int]:
    """Return the number of results in a run, and the number expected when the run is complete."""
    with open_scored(folder) as store, store.snapshot():
        finished = store.result_count()
        return finished, finished if store.is_imported() else store.size(store.repeats()) * len(store.models())


def decided_in(folder: Path) -> list[DecidedInterval]:
    """Return the confidence intervals on which a run's `--until` decisions are based."""
    with open_scored(folder) as store:
        return read_decided(store)


def conditions_in(folder: Path) -> list[DecidedInterval]:
    """Return the outcomes of all `--until` conditions of a run."""
    with open_scored(folder) as store:
        return read_conditions(store)


def _check_data(folders: Sequence[Path]) -> None:
    """Check that datasets with the same name are identical, because items are identified by dataset name."""
    known: dict[str, tuple[Path, str]] = {}
    for folder in folders:
        with open_scored(folder) as store:
            for name, value in store.settings().items():
                before, checksum = known.setdefault(name, (folder, value))
                if name.startswith("data ") and checksum != value:
                    raise UsageError(
                        f"{before} and {folder} use different datasets that are both named "
                        f"{name.removeprefix('data ')!r}. "
                        "Create a separate report for each run, or rename one of the datasets (-d NAME=FILE)."
                    )


TABLE = "cost"


def cost_cells(groups: Sequence[TrialColumns], scorers: Sequence[str]) -> Iterator[Cell]:
    """Yield the cost cells for every scorer for all groups with a known cost.

    A cached response costs as much as the original call.
    """
    for scorer in scorers:
        for trials in groups:
            priced = np.isfinite(trials.dollars)
            total = math.fsum(trials.dollars[priced].tolist())
            if total:
                right = trials.right(scorer)[priced]
                correct = float(right[np.isfinite(right)].sum())
                values = {
                    "cost": total,
                    "cost_per_case": total / int(priced.sum()),
                    "cost_per_correct": total / correct if correct else math.nan,
                }
                n, unpriced = int(priced.sum()), int(trials.is_unpriced.sum())
                for metric, value in values.items():
                    cell = CellBuilder(TABLE, trials, scorer).number(metric, value, trials.asked, n)
                    estimate = structs.replace(cell.estimate, questions=n, truncated=0, unsure=unpriced)
                    yield replace(cell, estimate=estimate)
