"""Compute report cells for judged metrics (Rej*, ED* and CR), which are shown next to the rule-based scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ragbed.analysis.judging import FOLDER
from ragbed.analysis.judging.criteria import CRITERIA
from ragbed.analysis.judging.judge_run import Scope, read_judgements
from ragbed.analysis.judging.tally import JudgedCell, tabulate
from ragbed.analysis.metrics.cells import JUDGED, Cell, CellKey
from ragbed.analysis.metrics.trial_columns import TrialGroup
from ragbed.analysis.statistics.rates import Interval, clustered_wilson
from ragbed.io.locations import place_inside
from ragbed.runs.database import NAME, EmptyRun
from ragbed.runs.store import open_store
from ragbed.schema import Estimate

# Suffix of the metrics for the share of correct answers among responses with the verdict "yes" (CR).
THEN = "_then_correct"


def read_judged_cells(runs: Sequence[Path]) -> list[Cell]:
    """Return all judges' cells for several runs. Rates are shares of all attempted cases, as in other tables."""
    found = [(run, path.parent.name) for run in runs for path in sorted((run / FOLDER).glob(f"*/{NAME}"))]
    return [cell for run, judge in found for cell in _read(run, place_inside(run, FOLDER, judge, NAME))]


def _read(run: Path, path: Path) -> Iterator[Cell]:
    try:
        with open_store(path.parent, create=False) as store:
            settings = store.settings()
            criterion = CRITERIA.get(settings.get("criterion", ""))
            judges = [name for name, _ in store.models().values()]
    except EmptyRun:  # the judge's run was killed while its file was being created
        return
    if criterion is None or settings.get("prompt") != criterion.prompt:  # the judge was given a different prompt
        return
    scope = Scope(run, criterion)
    for counts in tabulate(scope, scope.replies(), read_judgements(path.parent, criterion, judges)):
        yield _rate_cell(counts)
        if criterion.then is not None and counts.yes:
            yield _then_cell(counts)


def _rate_cell(counts: JudgedCell) -> Cell:
    clusters = counts.by_cluster.values()
    interval = None
    if counts.judged:
        interval = clustered_wilson(
            [cluster["yes"] for cluster in clusters], [cluster["trials"] for cluster in clusters]
        )
    # Failed calls and empty responses count towards n, although no judge rates them.
    n = counts.judged + counts.empty + counts.errors
    return _cell(counts, counts.criterion, interval, (n, len(clusters), counts.asked, counts.unanswered))


def _then_cell(counts: JudgedCell) -> Cell:
    clusters = [cluster for cluster in counts.by_cluster.values() if cluster["yes"]]
    interval = clustered_wilson([cluster["then"] for cluster in clusters], [cluster["yes"] for cluster in clusters])
    return _cell(counts, f"{counts.criterion}{THEN}", interval, (counts.yes, len(clusters), counts.yes, 0))


def _cell(counts: JudgedCell, metric: str, interval: Interval | None, sizes: tuple[int, int, int, int]) -> Cell:
    value, low, high = interval or (None, None, None)
    n, clusters, asked, errors = sizes
    estimate = Estimate(
        metric=metric,
        value=value,
        low=low,
        high=high,
        n=n,
        questions=min(n, clusters),
        asked=asked,
        errors=errors,
        infeasible=0,
    )
    condition = counts.condition
    key = TrialGroup(condition.model, condition.data, condition.lang, condition.profile)
    place = CellKey(noise=condition.noise, k=condition.k, correct=condition.correct)
    if condition.arm != "related":
        place["arm"] = condition.arm
    return Cell(condition.testbed, key, f"{JUDGED}{counts.judge}", "all", estimate, place)
