"""Read the diagnoses that `ragbed diagnose` stored in a run: `RUN/diagnose/diagnosis.jsonl`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from ragbed.analysis.diagnosis.records import FILE, FOLDER
from ragbed.analysis.diagnosis.shares import cluster_of, clustered_share
from ragbed.analysis.statistics.rates import LEVEL, Interval
from ragbed.errors import MALFORMED_JSON, DataError
from ragbed.io.jsonl import read_lines
from ragbed.runs.database import NAME
from ragbed.runs.store import open_store
from ragbed.testbeds.names import CaseName, parse_case

_PATH = Path(FOLDER, FILE)  # relative to the run folder
NONE = "none"  # error type for unclassified errors; reports always show the share of these errors


class _StoredDiagnosis(Struct, frozen=True):
    """The fields of a diagnosis that reports use. The evidence is copied unchanged."""

    case: str
    model: str
    types: tuple[str, ...]
    repeat: int = 0
    # None if the item has no event, and in older files. Confidence intervals are then clustered by item.
    event: str | None = None
    # False if only the paper's scoring counts the response as wrong; reports do not count such responses as errors.
    wrong: bool = True
    evidence: tuple[dict[str, object], ...] = ()


class Cause(NamedTuple):
    """A wrong answer with its error types. `name` is the full name of the case.

    If its run was monitored (`--until`), shares of error types have no bounds.
    """

    model: str
    case: CaseName
    types: tuple[str, ...]
    run: str = ""
    name: str = ""
    repeat: int = 0
    evidence: tuple[dict[str, object], ...] = ()
    event: str | None = None
    is_monitored: bool = False


def read_causes(folders: Sequence[Path]) -> list[Cause]:
    """Return the stored diagnoses of all given runs; runs without diagnoses are skipped.

    Raises:
        DataError: A line is not a diagnosis.
    """
    return [cause for folder in folders if (folder / _PATH).is_file() for cause in _read(folder)]


def share_types(causes: Iterable[Cause]) -> dict[str, int]:
    """Return the number of wrong answers of each error type, and the number of unclassified ones."""
    return dict(Counter(name for cause in causes for name in dict.fromkeys(cause.types or (NONE,))))


def type_share(causes: Sequence[Cause], name: str, level: float = LEVEL) -> Interval:
    """Return the share of wrong answers with a given error type, and its confidence interval.

    The interval accounts for clustering by question or event.
    """
    trials = ((cluster_of(cause.case, cause.event), name in (cause.types or (NONE,))) for cause in causes)
    is_monitored = any(cause.is_monitored for cause in causes)
    return clustered_share(trials, is_monitored=is_monitored, level=level)[0]


def _read(folder: Path) -> Iterator[Cause]:
    path = folder / _PATH
    decoder = msgspec.json.Decoder(_StoredDiagnosis)
    is_monitored = _is_monitored(folder)
    for number, line in read_lines(path):
        try:
            found = decoder.decode(line)
            name = parse_case(found.case)
        except (*MALFORMED_JSON, ValueError) as error:
            raise DataError(
                path, f"the line is not a valid diagnosis ({error}); rerun `ragbed diagnose`", line=number
            ) from error
        if found.wrong:
            trial = (found.model, name, found.types, str(folder), found.case, found.repeat, found.evidence)
            yield Cause(*trial, found.event, is_monitored)


def _is_monitored(folder: Path) -> bool:
    if not (folder / NAME).is_file():
        return False
    with open_store(folder, create=False) as store:
        return store.is_monitored()
