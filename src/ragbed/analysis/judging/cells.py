"""Compute report cells for judged metrics (Rej*, ED* and CR), which are shown next to the rule-based scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ragbed.analysis.judging import FOLDER
from ragbed.analysis.judging.criteria import CRITERIA
from ragbed.analysis.judging.judge_run import Scope, is_unsure, needs_judge, read_judgements
from ragbed.analysis.judging.request import judge_case
from ragbed.analysis.judging.tally import JudgedCell, tabulate
from ragbed.analysis.metrics.cells import JUDGED, Cell, CellKey
from ragbed.analysis.statistics.rates import Interval, clustered_wilson
from ragbed.analysis.trials.columns import TrialGroup
from ragbed.io.locations import place_inside
from ragbed.runs.condition import Condition, condition_of
from ragbed.runs.database import NAME, EmptyRun
from ragbed.runs.store import StoredResult, open_scored, open_store
from ragbed.schema import Estimate

# Suffix of the metrics for the share of correct answers among responses with the verdict "yes" (CR).
THEN = "_then_correct"


def read_judged_cells(runs: Sequence[Path], labels: Mapping[tuple[Path, str], str] | None = None) -> list[Cell]:
    """Return all judges' cells for several runs. Rates are shares of all attempted cases, as in other tables.

    If only unsure responses were judged, the rates are shares of these. If a judge rated the same responses several
    times by the same criterion, e.g. with different numbers of votes, the judgements with the most verdicts are used,
    or the latest of these.

    Args:
        runs: Folders of the runs.
        labels: The models' labels by run and model string; by default, the model strings.
    """
    return [
        replace(cell, key=cell.key._replace(model=(labels or {}).get((run, cell.key.model), cell.key.model)))
        for run in runs
        for counts in _read_run(run)
        for cell in _to_cells(counts)
    ]


def _read_run(run: Path) -> Iterable[JudgedCell]:
    found: dict[tuple[str, str, Condition], tuple[tuple[int, float], JudgedCell]] = {}
    for path in sorted((run / FOLDER).glob(f"*/{NAME}")):
        planned_at, cells = _read(run, place_inside(run, FOLDER, path.parent.name, NAME).parent)
        for counts in cells:
            key = (counts.judge, counts.criterion, counts.condition)
            rank = (counts.judged, planned_at)
            if key not in found or rank > found[key][0]:
                found[key] = rank, counts
    return [counts for _, counts in found.values()]


def _read(run: Path, folder: Path) -> tuple[float, list[JudgedCell]]:
    """Return the time at which judgements were planned, and their cells."""
    try:
        with open_store(folder, create=False) as store:
            settings = store.settings()
            criterion = CRITERIA.get(settings.get("criterion", ""))
            judges = [name for name, _ in store.models().values()]
            planned, planned_at = {case.case for case in store.cases()}, store.planned_at()
    except EmptyRun:  # the judge's run was killed while its file was being created
        return 0.0, []
    if criterion is None or settings.get("prompt") != criterion.prompt:  # the judge was given a different prompt
        return 0.0, []
    scope = Scope(run, criterion)
    covered, only_unsure = _covered(scope, planned)
    cells = tabulate(scope, covered, read_judgements(folder, criterion, judges))
    return planned_at, [replace(cell, only_unsure=only_unsure) for cell in cells]


def _covered(scope: Scope, planned: set[str]) -> tuple[Iterator[StoredResult], bool]:
    """Return the results that a judge's run covers, and whether it is limited to unsure responses.

    It may also be limited to some testbeds. Limits are not stored, so they are derived from the planned cases.
    Responses in different testbeds can have the same judge case, so a testbed counts as chosen only if it has a planned
    case that no default testbed has.
    """
    applies = scope.criterion.applies
    named = [
        (_Place(stored.case.testbed, condition_of(stored.model, stored.case), applies(stored.case)), name)
        for stored, name in _named(scope)
    ]
    extra = planned - {name for place, name in named if place.is_default}
    chosen = {place.testbed for place, name in named if name in extra}
    named = [(place, name) for place, name in named if place.is_default or place.testbed in chosen]
    conditions = {place.condition for place, name in named if name in planned}
    is_partial = any(name not in planned for _, name in named if name)
    only_unsure = is_partial and _only_unsure(scope, planned, conditions)
    covered = (
        stored
        for stored, name in _named(scope)
        if applies(stored.case) or stored.case.testbed in chosen
        if condition_of(stored.model, stored.case) in conditions
        if not only_unsure or (name in planned and is_unsure(stored))
    )
    return covered, only_unsure


class _Place(NamedTuple):
    testbed: str
    condition: Condition
    is_default: bool  # whether the criterion applies to the case


def _only_unsure(scope: Scope, planned: set[str], conditions: set[Condition]) -> bool:
    """Return whether every planned case belongs to an unsure response."""
    unsure, others = set[str](), set[str]()
    for stored, name in _named(scope):
        if name in planned and condition_of(stored.model, stored.case) in conditions:
            (unsure if is_unsure(stored) else others).add(name)
    return others <= unsure


def _named(scope: Scope) -> Iterator[tuple[StoredResult, str]]:
    """Yield the run's results, each with the name of the judge's case, which is empty if it does not need a judge."""
    with open_scored(scope.run) as store:
        for stored in store.results():
            is_needed = needs_judge(scope.criterion, stored)
            yield stored, judge_case(scope.criterion, stored).case if is_needed else ""


def _to_cells(counts: JudgedCell) -> Iterator[Cell]:
    yield _rate_cell(counts)
    if CRITERIA[counts.criterion].then is not None and counts.yes:
        yield _then_cell(counts)


def _rate_cell(counts: JudgedCell) -> Cell:
    clusters = counts.by_cluster.values()
    interval = None
    if counts.judged:
        interval = clustered_wilson(
            [cluster["yes"] for cluster in clusters], [cluster["trials"] for cluster in clusters]
        )
    sizes = (counts.asked, len(clusters), counts.undecided)
    return _cell(counts, counts.criterion, interval, sizes, counts.outcomes)


def _then_cell(counts: JudgedCell) -> Cell:
    clusters = [cluster for cluster in counts.by_cluster.values() if cluster["yes"]]
    interval = clustered_wilson([cluster["then"] for cluster in clusters], [cluster["yes"] for cluster in clusters])
    return _cell(counts, f"{counts.criterion}{THEN}", interval, (counts.yes, len(clusters), 0), Counter())


def _cell(
    counts: JudgedCell, metric: str, interval: Interval | None, sizes: tuple[int, int, int], outcomes: Counter[str]
) -> Cell:
    value, low, high = interval or (None, None, None)
    n, clusters, undecided = sizes
    estimate = Estimate(
        metric=metric,
        value=value,
        low=low,
        high=high,
        n=n,
        questions=clusters,
        asked=n,
        errors=outcomes["error"],
        infeasible=0,
        truncated=outcomes["truncated"],
        filtered=outcomes["filtered"],
        unsure=undecided,
    )
    condition = counts.condition
    key = TrialGroup(condition.model, condition.data, condition.lang, condition.profile)
    place = CellKey(noise=condition.noise, k=condition.k, correct=condition.correct)
    if condition.arm != "related":
        place["arm"] = condition.arm
    return Cell(
        condition.testbed, key, f"{JUDGED}{counts.judge}", "unsure" if counts.only_unsure else "all", estimate, place
    )
