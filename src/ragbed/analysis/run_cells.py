"""Runs as the cells of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ragbed.analysis.metrics import measure
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.metrics.trial import Scored, to_scored
from ragbed.errors import UsageError
from ragbed.runs.scoring import open_scored
from ragbed.runs.store import RunStore, StoredResult
from ragbed.schema import Case, Completion
from ragbed.scoring import Track, open_tracks
from ragbed.scoring.retrieval import score_retrieval


def read_report_cells(folders: Sequence[Path], tracks: Sequence[str]) -> list[Cell]:
    """All cells of all runs together; trials stream through, and only their scores are held.

    Raises:
        UsageError: Two runs hold the same call, which would count twice, or other data under one name; or nobody has
            such a track.
    """
    score = open_tracks(tracks)
    _check_data(folders)
    return list(measure(_once(folders, score), tracks))


def read_trials(folder: Path, score: Track) -> Iterator[tuple[Case, Scored]]:
    """Every trial of a run with its case, and for every model the cases that could not be asked."""
    with open_scored(folder) as store:
        has_remedies = "remedies" in store.settings()
        yield from _infeasible(store)
        for stored in store.results():
            yield stored.case, to_trial(stored, score, costs=has_remedies)


def to_trial(stored: StoredResult, score: Track, *, costs: bool = False) -> Scored:
    """A result as metrics see it.

    Args:
        stored: The result.
        score: Who scores it.
        costs: Whether what it took is told too.
    """
    completion, scores = stored.completion, None
    if completion.outcome == "ok":
        scores = score(stored.case, completion.reply or "") | score_retrieval(stored.case, completion)
        scores |= costs_of(completion) if costs else {}
    return to_scored(stored.case, stored.model, stored.repeat, completion.outcome, scores)


def read_infeasible(store: RunStore) -> Iterator[Scored]:
    """The cases that could not be asked, for every model."""
    return (trial for _, trial in _infeasible(store))


def costs_of(completion: Completion) -> dict[str, float]:
    """What a reply took, for who weighs remedies against it."""
    usage = completion.usage or {}
    told = {"tokens_in": usage.get("in"), "tokens_out": usage.get("out"), "seconds": completion.latency_s}
    return {"calls": float(max(1, len(completion.steps)))} | {
        name: float(value) for name, value in told.items() if value is not None
    }


def _check_data(folders: Sequence[Path]) -> None:
    """Items are known by the name of their data: the same name must mean the same file."""
    known: dict[str, tuple[Path, str]] = {}
    for folder in folders:
        with open_scored(folder) as store:
            for name, value in store.settings().items():
                before, hashed = known.setdefault(name, (folder, value))
                if name.startswith("data ") and hashed != value:
                    raise UsageError(
                        f"{before} and {folder} were asked different {name.removeprefix('data ')!r} under one name; "
                        "report them apart, or give one another name when it is run (-d NAME=FILE)."
                    )


def _once(folders: Sequence[Path], score: Track) -> Iterator[Scored]:
    seen: set[int] = set()  # hashes, since the names of a million cases would fill the memory
    for folder in folders:
        here: set[int] = set()
        for case, trial in read_trials(folder, score):
            if len(folders) > 1 and trial.outcome != "infeasible":
                call = hash((trial.model, case.case, case.rotation, trial.repeat))
                if call in seen:
                    where = f"{trial.model} on {case.case}"
                    raise UsageError(f"{folder} holds what a run before it holds ({where}); name one of them.")
                here.add(call)
            yield trial
        seen |= here


def _infeasible(store: RunStore) -> Iterator[tuple[Case, Scored]]:
    models = [name for name, _ in store.models().values()]
    for case in store.cases():
        if not case.feasible:
            for model in models:
                yield case, to_scored(case, model, 0, "infeasible", None)
