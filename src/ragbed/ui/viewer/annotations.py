"""Read what is stored with a run about its responses: diagnosed error types, judgements, and the labels of people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from ragbed.analysis.diagnosis.records import FOLDER as DIAGNOSES
from ragbed.analysis.judging import FOLDER as JUDGES
from ragbed.analysis.judging.criteria import CRITERIA
from ragbed.analysis.judging.judge_run import LabelledUnit, judge_case, needs_judge, verdict_of
from ragbed.analysis.judging.labels import Label
from ragbed.errors import MALFORMED_JSON, RagbedError, UsageError
from ragbed.io.file_lock import lock_file
from ragbed.io.jsonl import read_lines, sync_folder, write_whole
from ragbed.io.locations import check_regular, place_inside, report_errors
from ragbed.runs.database import NAME as RUN_FILE
from ragbed.runs.display_names import short_names
from ragbed.runs.store import StoredResult, open_store


class Diagnosed(msgspec.Struct, frozen=True):
    """The error types of one response or, if `model` is empty, of all models' responses to the case."""

    case: str
    types: tuple[str, ...]
    model: str = ""
    repeat: int = 0
    evidence: tuple[dict[str, Any], ...] = ()


def stamp_of(run: Path) -> str:
    """Return a string that changes when a run's diagnosis records change."""
    stats = [(path.name, path.stat()) for path in sorted((run / DIAGNOSES).glob("*.jsonl"))]
    return "; ".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats)


def read_diagnosed(run: Path) -> Iterator[Diagnosed]:
    """Yield a run's diagnosis records; lines in other formats are skipped, because a newer version may write more."""
    for path in sorted((run / DIAGNOSES).glob("*.jsonl")):
        for _, line in read_lines(path):
            with suppress(*MALFORMED_JSON):
                record = msgspec.json.decode(line, type=Diagnosed)
                types = sorted(set(record.types), key=lambda name: (len(name), name))  # Sorts E2 before E10.
                yield msgspec.structs.replace(record, types=tuple(types))


_MOST_VOTES = 16


class Vote(Struct, frozen=True):
    """A judgement of a response by one judge."""

    judge: str
    criterion: str
    verdict: str
    said: str | None


def read_votes(run: Path, stored: StoredResult) -> list[Vote]:
    """Return all judgements of a response."""
    votes: list[Vote] = []
    for path in sorted((run / JUDGES).glob(f"*/{RUN_FILE}")):
        with suppress(RagbedError):  # e.g. if the judge was killed while its file was being created
            votes += _read(place_inside(run, JUDGES, path.parent.name), stored)
    names = short_names(vote.judge for vote in votes)
    return [structs.replace(vote, judge=names[vote.judge]) for vote in votes]


def _read(folder: Path, stored: StoredResult) -> Iterator[Vote]:
    with open_store(folder, create=False) as store:
        criterion = CRITERIA.get(store.settings().get("criterion", ""))
        if criterion is None or not needs_judge(criterion, stored):
            return
        for found in store.results_of(judge_case(criterion, stored).case, _MOST_VOTES):
            verdict = verdict_of(found.completion, criterion.read)
            shown = str(verdict) if not isinstance(verdict, bool) else "yes" if verdict else "no"
            yield Vote(found.model, criterion.name, shown, found.completion.reply or found.completion.error)


LABELS = "labels.jsonl"
_LOCK = "labels.lock"
_WAIT_S = 5.0  # seconds to wait for another viewer that is writing a label


class LabelQuestion(msgspec.Struct, frozen=True):
    """A criterion and a response's labels for it; `wanted` is set if the response was sampled but not yet labelled."""

    criterion: str
    asks: str
    mine: bool | None
    others: list[tuple[str, bool]]
    wanted: bool


def read_all(run: Path) -> list[Label]:
    """Return all lines of a run's label file, or an empty list if there is no file.

    Raises:
        UsageError: The file contains other data, which labelling would delete.
    """
    path = run / LABELS
    check_regular(path)
    if not path.exists():
        return []
    try:
        return [msgspec.json.decode(line, type=Label) for _, line in read_lines(path)]
    except MALFORMED_JSON as error:
        raise UsageError(
            f"{path} contains a line that is not a valid label ({error}). Fix the line, or move the file "
            "to another folder."
        ) from None


def asked_of(stored: StoredResult, labels: Sequence[Label], rater: str) -> list[LabelQuestion]:
    """Return all criteria for which a response can be labelled: those that apply to its case, and those in the file."""
    questions = []
    for criterion in CRITERIA.values():
        here = [label for label in labels if _unit(label) == _unit_of(stored, criterion.name)]
        # The paper's criteria have no fixed list of labels, so they are offered only if the response was sampled.
        is_offered = bool(here) or (criterion.applies(stored.case) and bool(criterion.words))
        if not is_offered or not needs_judge(criterion, stored):
            continue
        given = [(label.rater, label.label) for label in here if label.label is not None]
        mine = next((value for name, value in given if name == rater), None)
        others = [(name, value) for name, value in given if name != rater]
        questions.append(LabelQuestion(criterion.name, criterion.asks, mine, others, bool(here) and not given))
    return questions


def put_label(run: Path, stored: StoredResult, criterion: str, value: bool | None, rater: str) -> None:
    """Store a rater's label, replacing an earlier one. None removes the label.

    A line that was sampled for labelling (`ragbed judge --sample`) is filled in. All labels for a response have the
    probability with which the response was sampled. The label is on disk when this returns, whatever other viewers of
    the run write in the meantime.
    """
    if criterion not in CRITERIA:
        raise UsageError(f"unknown criterion {criterion!r}.")
    with report_errors(run / _LOCK, "opened"):
        lock = lock_file(run / _LOCK, _WAIT_S)
    with lock:
        kept = _changed(read_all(run), _unit_of(stored, criterion), value, rater)
        with write_whole(run / LABELS) as sink:
            sink.writelines(msgspec.json.encode(line) + b"\n" for line in kept)
        sync_folder(run)


def _changed(lines: list[Label], unit: LabelledUnit, value: bool | None, rater: str) -> list[Label]:
    """Return the lines of a label file, updated with a rater's label for a response."""
    here = [line for line in lines if _unit(line) == unit]
    mine = [line for line in here if line.rater == rater and line.label is not None]
    drawn = [line for line in here if line.label is None]
    old = [*mine, *drawn][:1]
    new = Label(criterion=unit.criterion, model=unit.model, case=unit.case, repeat=unit.repeat)
    probability = _probability(here)
    base = msgspec.structs.replace(next(iter([*old, *here]), new), probability=probability)
    kept = [line for line in lines if line not in old and line not in mine]
    if value is not None:
        kept.append(msgspec.structs.replace(base, label=value, rater=rater))
    elif probability != _probability(line for line in kept if _unit(line) == unit):
        kept.append(msgspec.structs.replace(base, label=None, rater=""))
    return kept


def _probability(lines: Iterable[Label]) -> float | None:
    """Return the probability with which the response of these lines was sampled, or None if it was not sampled."""
    return next((line.probability for line in lines if line.probability is not None), None)


def _unit_of(stored: StoredResult, criterion: str) -> LabelledUnit:
    return LabelledUnit(criterion, stored.model, stored.case.case, stored.repeat)


def _unit(label: Label) -> LabelledUnit:
    return LabelledUnit(label.criterion, label.model, label.case, label.repeat)
