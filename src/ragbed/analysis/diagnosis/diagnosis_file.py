"""Write and read the diagnoses of runs: `RUN/diagnose/diagnosis.jsonl`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ragbed.analysis.diagnosis.records import FILE, FOLDER, Diagnosis
from ragbed.errors import MALFORMED_JSON, DataError
from ragbed.io.jsonl import read_lines, write_whole
from ragbed.io.locations import check_regular, place_inside
from ragbed.runs.database import NAME
from ragbed.runs.store import open_store
from ragbed.testbeds.names import CaseName, parse_case


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


def read_diagnoses(folders: Sequence[Path], labels: Mapping[tuple[Path, str], str] | None = None) -> list[RunDiagnosis]:
    """Return the stored diagnoses of all given runs; runs without diagnoses are skipped.

    Args:
        folders: Folders of the runs.
        labels: The models' labels by run and model string; by default, the model strings.

    Raises:
        DataError: A line is not a diagnosis.
    """
    return [one for folder in folders if (folder / FOLDER / FILE).is_file() for one in _read(folder, labels or {})]


def _read(folder: Path, labels: Mapping[tuple[Path, str], str]) -> Iterator[RunDiagnosis]:
    path = folder / FOLDER / FILE
    decoder = msgspec.json.Decoder(Diagnosis)
    is_monitored = False
    if (folder / NAME).is_file():
        with open_store(folder, create=False) as store:
            is_monitored = store.is_monitored()
    for number, line in read_lines(path):
        try:
            diagnosis = decoder.decode(line)
            parse_case(diagnosis.case)
        except (*MALFORMED_JSON, ValueError) as error:
            problem = f"the line is not a valid diagnosis ({error}); rerun `ragbed diagnose`"
            raise DataError(path, problem, line=number) from error
        label = labels.get((folder, diagnosis.model), diagnosis.model)
        yield RunDiagnosis(folder, diagnosis, is_monitored, label)
