"""Runs as the cells of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ragbed.errors import UsageError
from ragbed.metrics import measure
from ragbed.metrics.cells import Cell
from ragbed.metrics.trial import Scored, to_scored
from ragbed.run.store import RunStore, open_store
from ragbed.scorers import score


def read_report_cells(folders: Sequence[Path], tracks: Sequence[str]) -> list[Cell]:
    """All cells of all runs together; trials stream through, and only their scores are held.

    Raises:
        UsageError: Two runs hold the same call, which would count twice.
    """
    return list(measure(_once(folders), tracks))


def _once(folders: Sequence[Path]) -> Iterator[Scored]:
    seen: set[int] = set()  # hashes, since the names of a million cases would fill the memory
    for folder in folders:
        for trial in read_trials(folder):
            call = hash((trial.model, trial.data, trial.item, trial.testbed, trial.noise, trial.correct, trial.k,
                         trial.arm, trial.profile, trial.seed, trial.slots, trial.repeat))  # fmt: skip
            if len(folders) > 1 and trial.outcome != "infeasible":
                if call in seen:
                    where = f"{trial.model} on {trial.data}/{trial.item}"
                    raise UsageError(f"{folder} holds what a run before it holds ({where}); name one of them.")
                seen.add(call)
            yield trial


def read_trials(folder: Path) -> Iterator[Scored]:
    """Every trial of a run, and for every model the cases that could not be asked."""
    with open_store(folder, create=False) as store:
        yield from _infeasible(store)
        for stored in store.results():
            completion = stored.completion
            scores = score(stored.case, completion.reply or "") if completion.outcome == "ok" else None
            yield to_scored(stored.case, stored.model, stored.repeat, completion.outcome, scores)


def _infeasible(store: RunStore) -> Iterator[Scored]:
    models = [name for name, _ in store.models().values()]
    for case in store.cases():
        if not case.feasible:
            for model in models:
                yield to_scored(case, model, 0, "infeasible", None)
