"""Export a run as a cassette (one file of requests and responses with a checksum), and restore runs from cassettes.

A cassette contains the run, its judge and intervention runs, and human labels; `ragbed.io.cassette` defines the format.
It contains no API keys, because requests are stored without headers and keys are removed from error messages.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from ragbed import __version__
from ragbed.analysis.diagnosis.records import FOLDER as DIAGNOSES
from ragbed.analysis.judging import FOLDER as JUDGES
from ragbed.errors import MALFORMED_JSON, DataError, RagbedError
from ragbed.interop.exports.records_base import ExportedRun, Written
from ragbed.io.cassette import (
    VERSION,
    CassetteResult,
    CassetteWriter,
    FilePart,
    Head,
    RunPart,
    decode_head,
    read_cassette,
)
from ragbed.io.jsonl import make_folder, read_lines, write_whole_folder
from ragbed.io.locations import place_inside
from ragbed.runs.database import NAME
from ragbed.runs.decided import DecidedInterval, copy_decided, read_conditions
from ragbed.runs.display_names import changed_models
from ragbed.runs.lock import holder
from ragbed.runs.store import NOTE, RECORD, CallKey, StoredResult, open_store
from ragbed.runs.trials import kind_of_error, without_billing
from ragbed.schema import Case, Completion, Served

# Patterns for the nested runs and the files to export from a run's folder.
_RUNS = (f"{JUDGES}/*", f"{DIAGNOSES}/**")
_FILES = ("labels.jsonl", f"{DIAGNOSES}/*.jsonl")

# The paths allowed in a cassette, i.e. those matched by `_RUNS` and `_FILES`.
_WORD = r"(?!\.)[\w.,=@+-]+"
_RUN_PATH = re.compile(rf"{JUDGES}/{_WORD}|{DIAGNOSES}(/{_WORD})+(?<!\.jsonl)")
_FILE_PATH = re.compile(rf"labels\.jsonl|{DIAGNOSES}/{_WORD}\.jsonl")

_SESSION = 1
# Maximum number of runs in a cassette: the run itself, the runs of its judges, and one run per intervention.
_MAX_RUNS = 100


def write_trials(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Write a run to a cassette, with its judge runs, intervention runs and labels.

    Raises:
        RagbedError: Another process is writing one of the runs.
    """
    _refuse_busy(run.folder)
    written, cassette = Written("trials"), CassetteWriter(sink)
    cassette.write(msgspec.json.encode(Head(cassette=VERSION, ragbed=__version__)))
    _write_run(cassette, run, "", written)
    if run.model is None:
        _write_attached(cassette, run)
    else:
        written.notes.append("Judge runs and labels are omitted because they concern all models.")
    written.notes.append(f"Checksum: sha256 {cassette.close()}")
    return written


def _refuse_busy(folder: Path) -> None:
    if (process := holder(folder)) is not None:
        raise RagbedError(f"{folder} is in use by process {process}. Export the run when that process has finished.")


def _write_attached(cassette: CassetteWriter, run: ExportedRun) -> None:
    for database in _find_files(run.folder, [f"{pattern}/{NAME}" for pattern in _RUNS]):
        folder = database.parent
        _refuse_busy(folder)
        with open_store(folder, create=False) as store:
            attached = ExportedRun(folder, store, canonical=run.canonical)
            _write_run(cassette, attached, folder.relative_to(run.folder).as_posix(), Written("judgements"))
    for path in _find_files(run.folder, _FILES):
        lines = [line for _, line in read_lines(path)]  # read once, because labels can be added at any time
        cassette.write(msgspec.json.encode(FilePart(path=path.relative_to(run.folder).as_posix(), lines=len(lines))))
        for line in lines:
            cassette.write(line.removesuffix(b"\n"))


def _find_files(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """Return the files in a run's folder that match any of the patterns.

    Raises:
        UsageError: A file or one of its folders is a link. A cassette must not contain files from elsewhere.
    """
    paths = (path for pattern in patterns for path in folder.glob(pattern))
    found = sorted(paths, key=lambda path: (path.parent, path.name))
    return [place_inside(folder, *path.relative_to(folder).parts) for path in found]


def _write_run(cassette: CassetteWriter, run: ExportedRun, folder: str, written: Written) -> None:
    store, encoder = run.store, msgspec.json.Encoder()
    known = [model for model in store.models().values() if run.model in (None, model[0])]
    models = tuple(sorted(known) if run.canonical else known)
    model_numbers = {name: number for number, (name, _) in enumerate(models)}
    # Keep the order of the cases so that the run can be resumed. In a canonical export, sort the cases by name, so that
    # equal runs produce identical files.
    case_numbers = {case.case: number for number, case in enumerate(store.cases(by_name=run.canonical))}
    sent = {name: body for name, body in store.sent().items() if name in model_numbers}
    served = {
        name: sorted(names) if run.canonical else names
        for name, names in store.served().items()
        if name in model_numbers
    }
    shown = {name: shown for name, shown in store.names().items() if name in model_numbers}
    # A monitored run's decisions depend on the order in which responses arrived, so they may differ between otherwise
    # identical runs.
    decided = [] if run.canonical else [one for one in read_conditions(store) if one.model in model_numbers]
    part = RunPart(
        folder=folder, settings=store.settings(), models=models, cases=len(case_numbers), sent=sent, served=served,
        decided=tuple(msgspec.Raw(encoder.encode(one)) for one in decided), names=shown,
    )  # fmt: skip
    cassette.write(encoder.encode(part))
    for case in store.cases(by_name=run.canonical):
        cassette.write(encoder.encode(case))
    split = changed_models(store)
    for stored in run.results(written):
        result = CassetteResult(
            model=model_numbers[stored.model],
            case=case_numbers[stored.case.case],
            repeat=stored.repeat,
            request=stored.request,
            completion=_canonical(stored, split) if run.canonical else stored.completion,
            cached=stored.cached and not run.canonical,
        )
        cassette.write(encoder.encode(result))


def _canonical(stored: StoredResult, split: Collection[str]) -> Completion:
    """Return a response without the details that differ between otherwise equal runs.

    For models in `split`, the served model is kept, because tables count each served model separately.
    """
    completion = stored.completion
    steps = tuple(
        msgspec.structs.replace(step, usage=without_billing(step.usage), latency_s=None, cached=False)
        for step in completion.steps
    )
    changes = {"error": kind_of_error(completion), "usage": without_billing(completion.usage), "steps": steps}
    served = Served(model=completion.served.model) if completion.served and stored.model in split else None
    return msgspec.structs.replace(completion, **changes, latency_s=None, attempts=1, served=served)


@dataclass
class Replayed:
    """The contents of a restored cassette."""

    runs: int = 0
    cases: int = 0
    results: int = 0
    files: int = 0


def replay(path: Path, folder: Path) -> Replayed:
    """Restore a cassette's run to a new folder, which is created only if the complete run can be restored.

    Raises:
        UsageError: The folder exists, or the file does not.
        DataError: The cassette is damaged or was changed.
    """
    deque(read_cassette(path), maxlen=0)  # read all lines to verify the checksum before any of them is used
    make_folder(folder.parent)
    with write_whole_folder(folder) as inside:
        return _Reader(path, inside).restore()


class _Reader:
    def __init__(self, path: Path, folder: Path) -> None:
        self._path, self._folder = path, folder
        self._lines, self._number = read_cassette(path), 0
        self._decoder = msgspec.json.Decoder(CassetteResult | RunPart | FilePart)
        self._replayed = Replayed()

    def restore(self) -> Replayed:
        decode_head(self._path, self._next() or b"")
        part = self._next_record()
        while part is not None:
            if isinstance(part, CassetteResult):
                raise self._error("the result does not belong to a run")
            part = self._restore_run(part) if isinstance(part, RunPart) else self._restore_file(part)
        return self._replayed

    def _restore_run(self, part: RunPart) -> RunPart | FilePart | None:
        if self._replayed.runs == _MAX_RUNS:
            raise DataError(
                self._path,
                f"run {_MAX_RUNS + 1} starts on this line, but a cassette can contain at most {_MAX_RUNS} runs; "
                "export fewer runs",
                line=self._number,
            )
        folder = self._folder / self._check_path(part.folder, _RUN_PATH) if part.folder else self._folder
        if (folder / NAME).exists():
            raise self._error(f"{part.folder or 'the run'} appears twice")
        folder.mkdir(parents=True, exist_ok=True)
        with open_store(folder, create=True) as store, store.transaction() as connection:
            cases: list[str] = []
            store.add_plan(part.settings, self._read_cases(part.cases, cases))
            connection.execute("INSERT INTO meta VALUES ('session', ?)", (str(_SESSION),))
            models = store.add_models(part.models)
            notes = [(f"sent.{name}", sent) for name, sent in part.sent.items()]
            notes += [(f"name.{name}", shown) for name, shown in part.names.items()]
            notes += [(f"served.{name}", msgspec.json.encode(names).decode()) for name, names in part.served.items()]
            connection.executemany(NOTE, notes)
            copy_decided(store, self._read_decided(part))
            ids = {str(name): int(number) for name, number in store.read("SELECT name, id FROM cases")}
            record = self._next_record()
            while isinstance(record, CassetteResult):
                if not (0 <= record.model < len(models) and 0 <= record.case < len(cases)):
                    raise self._error("the response refers to an unknown model or case")
                call = CallKey(models[record.model], ids[cases[record.case]], record.repeat)
                row = store.row(call, _SESSION, record.request, record.completion, record.cached)
                connection.execute(RECORD, row)
                self._replayed.results += 1
                record = self._next_record()
        self._replayed.runs += 1
        return record

    def _read_cases(self, count: int, names: list[str]) -> Iterator[Case]:
        decoder = msgspec.json.Decoder(Case)
        for _ in range(count):
            try:
                case = decoder.decode(self._next() or b"")
            except MALFORMED_JSON as error:
                raise self._error(f"the case is not valid: {error}") from error
            names.append(case.case)
            self._replayed.cases += 1
            yield case

    def _read_decided(self, part: RunPart) -> list[DecidedInterval]:
        try:
            return [msgspec.json.decode(one, type=DecidedInterval) for one in part.decided]
        except MALFORMED_JSON as error:
            raise self._error(f"the decision is not valid: {error}") from error

    def _restore_file(self, part: FilePart) -> RunPart | FilePart | CassetteResult | None:
        target = self._folder / self._check_path(part.path, _FILE_PATH)
        if target.exists():
            raise self._error(f"{part.path} appears twice")
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "xb") as sink:
            for _ in range(part.lines):
                line = self._next()
                if line is None:
                    raise self._error(f"the cassette is incomplete: the end of {part.path} is missing")
                sink.write(line + b"\n")
        self._replayed.files += 1
        return self._next_record()

    def _check_path(self, path: str, allowed: re.Pattern[str]) -> str:
        """Reject paths that cannot occur in an exported run, because a cassette may come from an untrusted source."""
        if not allowed.fullmatch(path):
            raise self._error(f"the path {path!r} is not allowed in a cassette")
        return path

    def _next(self) -> bytes | None:
        self._number += 1
        return next(self._lines, None)

    def _next_record(self) -> CassetteResult | RunPart | FilePart | None:
        line = self._next()
        try:
            return None if line is None else self._decoder.decode(line)
        except MALFORMED_JSON as error:
            raise self._error(f"the line is not a valid cassette line: {error}") from error

    def _error(self, problem: str) -> DataError:
        return DataError(self._path, f"{problem}; use a cassette written by `ragbed export`", line=self._number)
