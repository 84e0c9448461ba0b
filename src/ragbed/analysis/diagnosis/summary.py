"""Store the diagnoses of runs, and summarise them: shares of error types and sources, by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from ragbed.analysis.diagnosis.classify import diagnose_run
from ragbed.analysis.diagnosis.records import FILE, FOLDER, NAMES, Diagnosis
from ragbed.analysis.run_cells import is_monitored
from ragbed.analysis.statistics.rates import Interval, clustered_wilson
from ragbed.analysis.trials.table import TrialTable
from ragbed.errors import MALFORMED_JSON, DataError, UsageError
from ragbed.io.jsonl import read_lines, write_whole
from ragbed.io.locations import check_regular, place_inside
from ragbed.runs.database import NAME
from ragbed.testbeds.cases import CaseName, parse_case


class RunDiagnosis(NamedTuple):
    """A stored diagnosis with its run, whether the run was monitored (`--until`), and the label of the model."""

    run: Path
    diagnosis: Diagnosis
    is_monitored: bool
    label: str

    @property
    def case(self) -> CaseName:
        """The parts of the case's name."""
        return parse_case(self.diagnosis.case)


def write_diagnoses(folder: Path, diagnoses: Iterable[Diagnosis]) -> Path:
    """Write the diagnoses to the run folder, and return the path of the file."""
    path = place_inside(folder, FOLDER, FILE)
    check_regular(path)
    path.parent.mkdir(exist_ok=True)
    with write_whole(path) as sink:
        sink.writelines(msgspec.json.encode(diagnosis) + b"\n" for diagnosis in diagnoses)
    return path


# Maximum number of wrong answers that a report diagnoses itself. One takes 2 to 3 ms, so all take less than 10 s.
_MOST_WRONG = 3_000
_WRONG = """SELECT COUNT(*) FROM (SELECT 1 FROM trials JOIN scores ON scores.id = score JOIN cases ON cases.id = case_id
    WHERE COALESCE(json_extract(verdicts, '$.' || headline), 0) = 0 LIMIT ?)"""


def read_diagnoses(
    folders: Sequence[Path], labels: Mapping[tuple[Path, str], str] | None = None, *, may_diagnose: bool = False
) -> list[RunDiagnosis]:
    """Return the stored diagnoses of all given runs; runs without diagnoses are skipped.

    Args:
        folders: Folders of the runs.
        labels: The models' labels by run and model string; by default, the model strings.
        may_diagnose: Whether to diagnose runs that have no stored diagnoses, if it takes less than ten seconds.

    Raises:
        DataError: A line is not a diagnosis.
    """
    found: list[RunDiagnosis] = []
    for folder in folders:
        is_stored = (folder / FOLDER / FILE).is_file()
        diagnoses = _read_file(folder) if is_stored else _diagnose(folder) if may_diagnose else ()
        was_monitored = (folder / NAME).is_file() and is_monitored(folder)
        for one in diagnoses:
            label = (labels or {}).get((folder, one.model), one.model)
            found.append(RunDiagnosis(folder, one, was_monitored, label))
    return found


def _diagnose(folder: Path) -> list[Diagnosis]:
    """Return the diagnoses of a run, or an empty list if there are too many wrong answers or no documents."""
    with TrialTable(folder) as table:
        table.update()
        ((wrong,),) = table.connection.execute(_WRONG, (_MOST_WRONG + 1,))
    with suppress(UsageError):
        return diagnose_run(folder).diagnoses if wrong <= _MOST_WRONG else []
    return []


def _read_file(folder: Path) -> Iterator[Diagnosis]:
    path = folder / FOLDER / FILE
    decoder = msgspec.json.Decoder(Diagnosis)
    for number, line in read_lines(path):
        try:
            diagnosis = decoder.decode(line)
            parse_case(diagnosis.case)
        except (*MALFORMED_JSON, ValueError) as error:
            problem = f"the line is not a valid diagnosis ({error}); rerun `ragbed diagnose`"
            raise DataError(path, problem, line=number) from error
        yield diagnosis


UNCLASSIFIED = "unclassified"  # stands for no error type; its share is always shown, also if it is 0
NO_ANSWER = "no answer"
SOURCES = ("supports", "distracts", "contradicts", "parametric", "none", NO_ANSWER)

# For each testbed, the number of the paper's table that shows its errors.
PAPER_TABLES = {"noise": 2, "rejection": 4, "integration": 6}


class Group(NamedTuple):
    """One model's wrong answers on one testbed in one language."""

    model: str
    testbed: str
    lang: str


class ErrorShare(NamedTuple):
    """The share of `n` wrong answers that have an error type or a source, with its confidence interval."""

    name: str
    errors: int
    n: int
    share: Interval

    def bounds(self) -> tuple[float | None, float | None, float | None]:
        """Return the share and its bounds, rounded, with None for undefined values."""
        value, low, high = (None if number is None else round(number, 6) for number in self.share.defined)
        return value, low, high


def by_group(diagnoses: Iterable[Diagnosis]) -> dict[Group, list[Diagnosis]]:
    """Return the diagnoses by model, testbed and language."""
    groups: dict[Group, list[Diagnosis]] = {}
    for one in diagnoses:
        groups.setdefault(Group(one.model, parse_case(one.case).testbed, one.lang), []).append(one)
    return dict(sorted(groups.items()))


def type_shares(diagnoses: Sequence[Diagnosis], *, is_monitored: bool) -> list[ErrorShare]:
    """Return the shares of all error types and of unclassified errors; an error can have several types."""
    labels = [one.types or (UNCLASSIFIED,) for one in diagnoses]
    return list(_shares(diagnoses, labels, (*NAMES, UNCLASSIFIED), is_monitored))


def source_shares(diagnoses: Sequence[Diagnosis], *, is_monitored: bool) -> list[ErrorShare]:
    """Return the shares of all sources; an error has one source."""
    return list(_shares(diagnoses, [(one.source or NO_ANSWER,) for one in diagnoses], SOURCES, is_monitored))


def _shares(
    diagnoses: Sequence[Diagnosis], labels: Sequence[Sequence[str]], names: Iterable[str], is_monitored: bool
) -> Iterator[ErrorShare]:
    """Yield the share of each name, or nothing if there are no errors.

    Errors on the same question or event are one cluster. The interval assumes a fixed number of questions, so its
    bounds are NaN if the run was monitored (`--until`).
    """
    cases = [(parse_case(one.case), one.event) for one in diagnoses]
    clusters = [(case.data, case.item if event is None else event, event is None) for case, event in cases]
    sizes = Counter(clusters)
    for name in names if diagnoses else ():
        hits = Counter(cluster for cluster, given in zip(clusters, labels, strict=True) if name in given)
        share = clustered_wilson([hits[cluster] for cluster in sizes], list(sizes.values()))
        yield ErrorShare(name, hits.total(), len(diagnoses), share.without_bounds() if is_monitored else share)


class ErrorRow(NamedTuple):
    """An error type found for one model on one dataset."""

    table: int
    model: str
    data: str
    testbed: str
    type: ErrorShare


def read_error_rows(diagnoses: Sequence[RunDiagnosis]) -> list[ErrorRow]:
    """Return the error types by table, model and dataset, for the testbeds whose errors are in the paper's tables."""
    groups: dict[tuple[int, str, str, str], list[RunDiagnosis]] = {}
    for one in diagnoses:
        if (testbed := one.case.testbed) in PAPER_TABLES:
            key = (PAPER_TABLES[testbed], one.label, one.case.data, testbed)
            groups.setdefault(key, []).append(one)
    return [
        ErrorRow(*key, share)
        for key, found in sorted(groups.items())
        for share in type_shares([one.diagnosis for one in found], is_monitored=any(one.is_monitored for one in found))
        if share.errors
    ]
