"""Why answers are wrong, as `ragbed diagnose` wrote it beside a run: `RUN/diagnose/diagnosis.jsonl`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from ragbed.analysis.diagnosis.classify import FILE
from ragbed.analysis.diagnosis.reruns import FOLDER
from ragbed.errors import MALFORMED_JSON, DataError
from ragbed.io.jsonl import read_lines
from ragbed.testbeds.names import CaseName, parse_case

_PATH = Path(FOLDER, FILE)
"""In the folder of the run."""
NONE = "none"
"""Stands for a wrong answer that no type fits: the unclassified share is always shown."""


class StoredDiagnosis(Struct, frozen=True):
    """What a report needs of a diagnosis; its evidence is passed on as it is, to be shown."""

    case: str
    model: str
    types: tuple[str, ...]
    repeat: int = 0
    wrong: bool = True
    """False where only the paper's own scoring calls it wrong; not counted here."""
    evidence: tuple[dict[str, object], ...] = ()


class Cause(NamedTuple):
    """One wrong answer with its types."""

    model: str
    case: CaseName
    types: tuple[str, ...]
    run: str = ""
    name: str = ""
    """Of the case, as it was told."""
    repeat: int = 0
    evidence: tuple[dict[str, object], ...] = ()


def read_causes(folders: Sequence[Path]) -> list[Cause]:
    """The diagnoses of all runs; none where none was made.

    Raises:
        DataError: A line is no diagnosis.
    """
    return [cause for folder in folders if (folder / _PATH).is_file() for cause in _read(folder)]


def share_types(causes: Iterable[Cause]) -> dict[str, int]:
    """How many wrong answers have each type; those with none are counted as such."""
    counts: dict[str, int] = {}
    for cause in causes:
        for name in dict.fromkeys(cause.types or (NONE,)):
            counts[name] = counts.get(name, 0) + 1
    return counts


def _read(folder: Path) -> Iterator[Cause]:
    path = folder / _PATH
    decoder = msgspec.json.Decoder(StoredDiagnosis)
    for number, line in read_lines(path):
        try:
            found = decoder.decode(line)
            cause = Cause(
                found.model, parse_case(found.case), found.types, str(folder), found.case, found.repeat, found.evidence
            )
        except (*MALFORMED_JSON, ValueError) as problem:
            raise DataError(path, f"is no diagnosis: {problem}; run `ragbed diagnose` again", line=number) from problem
        if found.wrong:
            yield cause
