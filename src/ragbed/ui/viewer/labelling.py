"""Labels that people assign to responses, stored with the run in the format of `ragbed judge --labels`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ragbed.analysis.judging.criteria import CRITERIA
from ragbed.analysis.judging.judge_run import needs_judge
from ragbed.analysis.judging.labels import Label, LabelledUnit
from ragbed.errors import MALFORMED_JSON, RagbedError, UsageError
from ragbed.io.file_lock import LockHeld, lock_file
from ragbed.io.jsonl import read_lines, sync_folder, write_whole
from ragbed.io.locations import check_regular, report_errors
from ragbed.runs.store import StoredResult

NAME = "labels.jsonl"
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
    path = run / NAME
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
    with _locked(run):
        kept = _changed(read_all(run), _unit_of(stored, criterion), value, rater)
        with write_whole(run / NAME) as sink:
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


@contextmanager
def _locked(run: Path) -> Iterator[None]:
    """Lock the label file while a label is written, after waiting for other viewers to release the lock.

    Raises:
        RagbedError: Another process still holds the lock after the wait.
    """
    path = run / _LOCK
    with report_errors(path, "opened"):
        try:
            lock = lock_file(path, _WAIT_S)
        except LockHeld:
            raise RagbedError(
                f"{run / NAME} is being written by another process; try again when that process has finished."
            ) from None
    with lock:
        yield


def _unit_of(stored: StoredResult, criterion: str) -> LabelledUnit:
    return LabelledUnit(criterion, stored.model, stored.case.case, stored.repeat)


def _unit(label: Label) -> LabelledUnit:
    return LabelledUnit(label.criterion, label.model, label.case, label.repeat)
