"""Read the trials of runs, and compute report cells from them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import TypeAlias

from msgspec import structs

from ragbed.analysis.costs import CostTally, cost_of_result
from ragbed.analysis.metrics import measure
from ragbed.analysis.metrics.cells import Cell, narrow_cells
from ragbed.analysis.metrics.trial import Scored, to_scored
from ragbed.analysis.statistics.rates import ALPHA
from ragbed.errors import UsageError
from ragbed.runs.condition import largest_cluster
from ragbed.runs.decided import DecidedInterval, read_conditions, read_decided
from ragbed.runs.display_names import RowNames, read_row_names
from ragbed.runs.prices import Price
from ragbed.runs.scoring import open_scored
from ragbed.runs.store import RunStore, StoredResult
from ragbed.schema import Case, Completion
from ragbed.scoring import Track, open_tracks, score_outcome
from ragbed.scoring.confidence import add_agreement
from ragbed.scoring.untracked import score_untracked

Labels: TypeAlias = Mapping[tuple[Path, str], str]


def read_report_cells(
    folders: Sequence[Path], tracks: Sequence[str], alpha: float = ALPHA, names: RowNames | None = None
) -> list[Cell]:
    """Return the report cells for all runs combined. Trials are streamed; only their scores are kept in memory.

    Args:
        folders: Folders of the runs.
        tracks: The tracks whose scores are used.
        alpha: Error probability of the intervals if any of the runs was monitored (`--until`).
        names: The names of the models, if they must be unique across more runs than these.

    Raises:
        UsageError: Two runs contain the same call or different data with the same name, or a track does not exist.
    """
    score = open_tracks(tracks)
    _check_data(folders)
    monitored, costs = any(map(is_monitored, folders)), CostTally()
    largest = max(map(_largest_cluster, folders)) if monitored else 0
    labels = (names or read_row_names(folders)).labels
    trials = _distinct_trials(folders, score, costs, labels)
    cells = list(measure(trials, tracks, alpha if monitored else None, largest))
    decided = [
        structs.replace(interval, model=labels[folder, interval.model])
        for folder in folders
        for interval in decided_in(folder)
    ]
    return [*narrow_cells(cells, decided, alpha), *costs.cells(tracks)]


def read_published(folders: Sequence[Path], labels: Labels) -> dict[tuple[str, str], str]:
    """Return the names of RGB's files, by label and dataset, for datasets that are identical to them.

    Runs with own instructions are omitted, because the paper's numbers are based on the original ones.
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
        complete = store.size(store.repeats()) * len(store.models())
        # A query over all rows of a manipulated file may never end, so read at most as many rows as a run can have.
        finished = sum(1 for _ in islice(store.read("SELECT 1 FROM results"), complete))
        return finished, finished if store.is_imported() else complete


def decided_in(folder: Path) -> list[DecidedInterval]:
    """Return the confidence intervals on which a run's `--until` decisions are based."""
    with open_scored(folder) as store:
        return read_decided(store)


def conditions_in(folder: Path) -> list[DecidedInterval]:
    """Return the outcomes of all `--until` conditions of a run."""
    with open_scored(folder) as store:
        return read_conditions(store)


def _largest_cluster(folder: Path) -> int:
    with open_scored(folder) as store:
        return largest_cluster(store.cases(), store.repeats())


def read_trials(
    folder: Path, score: Track, costs: CostTally | None = None, labels: Labels | None = None
) -> Iterator[tuple[Case, Scored]]:
    """Yield a run's infeasible cases once per model, then every trial with its case, and add up the costs.

    Args:
        folder: Folder of the run.
        score: Function that scores a response.
        costs: Tally to which the costs are added.
        labels: The labels under which results are counted (see `RowNames`); by default, the model strings.
    """
    with open_scored(folder) as store:
        with_costs = "remedies" in store.settings()
        named = {name: name if labels is None else labels[folder, name] for name, _ in store.models().values()}
        yield from _infeasible(store, named.values())
        prices = store.prices()
        results = store.results()
        for stored in _with_agreement(results) if store.settings().get("confidence") == "agreement" else results:
            trial = to_trial(stored, score, named[stored.model], costs=with_costs, own_prices=prices)
            if costs is not None:
                costs.add(stored, trial, prices)
            yield stored.case, trial


def _with_agreement(results: Iterable[StoredResult]) -> Iterator[StoredResult]:
    """Yield the results with their confidence: each response's agreement with the other responses to the same case."""
    for _, group in groupby(results, key=lambda stored: (stored.model, stored.case.case)):
        same_case = list(group)
        completions = add_agreement([stored.completion for stored in same_case])
        for stored, completion in zip(same_case, completions, strict=True):
            yield structs.replace(stored, completion=completion)


def to_trial(
    stored: StoredResult,
    score: Track,
    label: str,
    *,
    costs: bool = False,
    own_prices: Mapping[str, Price] | None = None,
) -> Scored:
    """Score a stored result, which is counted under a label; if `costs` is set, include its costs as scores."""
    completion = stored.completion
    scores = score_outcome(stored.case, completion, score)
    if scores is not None:
        scores |= score_untracked(stored.case, completion, scores)
        if stored.case.testbed == "search" and (dollars := cost_of_result(stored, own_prices)) is not None:
            scores["search_cost"] = dollars
        scores |= _costs_of(completion) if costs else {}
    return to_scored(stored.case, label, stored.repeat, completion.outcome, scores)


def _costs_of(completion: Completion) -> dict[str, float]:
    """Return a response's call count, token counts and latency as scores, for comparing prompting strategies."""
    usage = completion.usage or {}
    costs = {"tokens_in": usage.get("in"), "tokens_out": usage.get("out"), "seconds": completion.latency_s}
    return {"calls": float(max(1, len(completion.steps)))} | {
        name: float(value) for name, value in costs.items() if value is not None
    }


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


def _distinct_trials(folders: Sequence[Path], score: Track, costs: CostTally, labels: Labels) -> Iterator[Scored]:
    seen: set[int] = set()  # hashes, because the names of a million cases would need too much memory
    for folder in folders:
        here: set[int] = set()
        for case, trial in read_trials(folder, score, costs, labels):
            if len(folders) > 1 and trial.outcome != "infeasible":
                call = hash((trial.model, case.case, case.rotation, trial.repeat))
                if call in seen:
                    raise UsageError(
                        f"{folder} and another of these runs contain the same call ({trial.model} on "
                        f"{case.case}). Use only one of the two runs."
                    )
                here.add(call)
            yield trial
        seen |= here


def _infeasible(store: RunStore, models: Collection[str]) -> Iterator[tuple[Case, Scored]]:
    for case in store.cases():
        if not case.feasible:
            for model in models:
                yield case, to_scored(case, model, 0, "infeasible", None)
