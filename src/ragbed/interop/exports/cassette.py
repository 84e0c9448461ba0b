"""Cassettes: a run as one sealed file of requests and replies, and back to the same run.

A cassette contains the run, the runs of its judges and interventions, and human labels (`ragbed.io.cassette` has the
format). It contains no keys: no request body has one, and errors are stored without them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from ragbed import __version__
from ragbed.analysis.diagnosis.reruns import FOLDER as DIAGNOSES
from ragbed.analysis.judging.judge_run import FOLDER as JUDGES
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
from ragbed.runs.lock import holder
from ragbed.runs.store import RECORD, CallKey, RunStore, StoredResult, open_store
from ragbed.runs.trials import kind_of_error, without_luck
from ragbed.schema import Case

_RUNS = (f"{JUDGES}/*", f"{DIAGNOSES}/**")
_FILES = ("labels.jsonl", f"{DIAGNOSES}/*.jsonl")
"""What belongs to a run, beside it in its folder; whatever else somebody put there is not passed on."""
_WORD = r"(?!\.)[\w.,=@+-]+"
_RUN_PLACE = re.compile(rf"{JUDGES}/{_WORD}|{DIAGNOSES}(/{_WORD})+(?<!\.jsonl)")
_FILE_PLACE = re.compile(rf"labels\.jsonl|{DIAGNOSES}/{_WORD}\.jsonl")
"""Where a part may go in the folder of a run: nowhere else than `_RUNS` and `_FILES` take it from."""
_SESSION = 1
_MOST_RUNS = 100
"""Runs in one cassette: the run itself, one for each criterion and setting of its judges, one for each intervention."""


def write_trials(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Writes a run, what judged it, and what people said of it.

    Raises:
        RagbedError: It is still being written, or a run of a judge is.
    """
    _need_rest(run.folder)
    written, tape = Written("trials"), CassetteWriter(sink)
    tape.write(msgspec.json.encode(Head(cassette=VERSION, ragbed=__version__)))
    _write_run(tape, run, "", written)
    if run.model is None:
        _write_beside(tape, run)
    else:
        written.notes.append("Judges' runs and labels are about all models and were left out.")
    written.notes.append(f"Sealed: sha256 {tape.close()}")
    return written


def _need_rest(folder: Path) -> None:
    if (process := holder(folder)) is not None:
        raise RagbedError(f"{folder} is being written by process {process}; wait for it.")


def _write_beside(tape: CassetteWriter, run: ExportedRun) -> None:
    for folder in (path.parent for path in _find_beside(run.folder, [f"{place}/{NAME}" for place in _RUNS])):
        _need_rest(folder)
        with open_store(folder, create=False) as store:
            inner = ExportedRun(folder, store, canonical=run.canonical)
            _write_run(tape, inner, folder.relative_to(run.folder).as_posix(), Written("judgements"))
    for path in _find_beside(run.folder, _FILES):
        lines = [line for _, line in read_lines(path)]  # once: people may add labels at this moment
        tape.write(msgspec.json.encode(FilePart(path=path.relative_to(run.folder).as_posix(), lines=len(lines))))
        for line in lines:
            tape.write(line.removesuffix(b"\n"))


def _find_beside(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """Return files in the folder of a run.

    Raises:
        UsageError: One of them, or a folder on the way, is a link: a cassette must not pass on a file from elsewhere.
    """
    paths = (path for pattern in patterns for path in folder.glob(pattern))
    found = sorted(paths, key=lambda path: (path.parent, path.name))
    return [place_inside(folder, *path.relative_to(folder).parts) for path in found]


def _write_run(tape: CassetteWriter, run: ExportedRun, folder: str, written: Written) -> None:
    store, encoder = run.store, msgspec.json.Encoder()
    known = [model for model in store.models().values() if run.model in (None, model[0])]
    models = tuple(sorted(known) if run.canonical else known)
    numbers = {name: place for place, (name, _) in enumerate(models)}
    # Only where equal runs are to be equal bytes are cases sorted: as planned they can be resumed as planned.
    places = {case.case: place for place, case in enumerate(store.cases(by_name=run.canonical))}
    tape.write(encoder.encode(RunPart(folder=folder, settings=store.settings(), models=models, cases=len(places))))
    for case in store.cases(by_name=run.canonical):
        tape.write(encoder.encode(case))
    for stored in run.results(written):
        tape.write(encoder.encode(_result(stored, numbers, places, canonical=run.canonical)))


def _result(stored: StoredResult, models: dict[str, int], cases: dict[str, int], *, canonical: bool) -> CassetteResult:
    said = stored.completion
    if canonical:
        steps = tuple(
            msgspec.structs.replace(step, usage=without_luck(step.usage), latency_s=None, cached=False)
            for step in said.steps
        )
        changes = {"error": kind_of_error(said), "usage": without_luck(said.usage), "steps": steps}
        said = msgspec.structs.replace(said, **changes, latency_s=None, attempts=1)
    return CassetteResult(
        model=models[stored.model],
        case=cases[stored.case.case],
        repeat=stored.repeat,
        request=stored.request,
        completion=said,
        cached=stored.cached and not canonical,
    )


@dataclass
class Replayed:
    """What came out of a cassette."""

    runs: int = 0
    cases: int = 0
    results: int = 0
    files: int = 0


def replay(path: Path, folder: Path) -> Replayed:
    """Writes the run that a cassette holds into a new folder, whole or not at all; nobody is asked.

    Raises:
        UsageError: The folder is not new, or there is no such file.
        DataError: The cassette is damaged or was changed.
    """
    for _ in read_cassette(path):  # to its seal, before a line of it is believed
        pass
    make_folder(folder.parent)
    with write_whole_folder(folder) as inside:
        return _Player(path, inside).play()


class _Player:
    """Goes through a cassette once, part by part."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path, self._folder = path, folder
        self._tape, self._number = read_cassette(path), 0
        self._decoder = msgspec.json.Decoder(CassetteResult | RunPart | FilePart)
        self.replayed = Replayed()

    def play(self) -> Replayed:
        decode_head(self._path, self._next() or b"")
        part = self._next_record()
        while part is not None:
            if isinstance(part, RunPart):
                if self.replayed.runs == _MOST_RUNS:
                    raise self._wrong(f"begins run {_MOST_RUNS + 1}, and a cassette holds at most {_MOST_RUNS}")
                part = self._play_run(part)
            elif isinstance(part, FilePart):
                part = self._play_file(part)
            else:
                raise self._wrong("is a result of no run")
        return self.replayed

    def _play_run(self, part: RunPart) -> RunPart | FilePart | None:
        folder = self._folder / self._place(part.folder, _RUN_PLACE) if part.folder else self._folder
        if (folder / NAME).exists():
            raise self._wrong(f"{part.folder or 'the run'} is in the cassette twice")
        folder.mkdir(parents=True, exist_ok=True)
        with open_store(folder, create=True) as store, store.transaction() as connection:
            cases: list[str] = []
            store.add_plan(part.settings, self._cases(part.cases, cases))
            connection.execute("INSERT INTO meta VALUES ('session', ?)", (str(_SESSION),))
            models = store.add_models(part.models)
            ids = {str(name): int(number) for name, number in store.read("SELECT name, id FROM cases")}
            numbers = [ids[name] for name in cases]
            record = self._next_record()
            while isinstance(record, CassetteResult):
                self._keep(store, record, models, numbers)
                record = self._next_record()
        self.replayed.runs += 1
        return record

    def _cases(self, count: int, names: list[str]) -> Iterator[Case]:
        decoder = msgspec.json.Decoder(Case)
        for _ in range(count):
            line = self._next()
            try:
                case = decoder.decode(line or b"")
            except MALFORMED_JSON as error:
                raise self._wrong(f"is no case: {error}") from error
            names.append(case.case)
            self.replayed.cases += 1
            yield case

    def _keep(self, store: RunStore, result: CassetteResult, models: list[int], cases: list[int]) -> None:
        if not (0 <= result.model < len(models) and 0 <= result.case < len(cases)):
            raise self._wrong("is a reply to a case or by a model that is not there")
        call = CallKey(models[result.model], cases[result.case], result.repeat)
        store.connection.execute(RECORD, store.row(call, _SESSION, result.request, result.completion, result.cached))
        self.replayed.results += 1

    def _play_file(self, part: FilePart) -> RunPart | FilePart | CassetteResult | None:
        target = self._folder / self._place(part.path, _FILE_PLACE)
        if target.exists():
            raise self._wrong(f"{part.path} is in the cassette twice")
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "xb") as sink:
            for _ in range(part.lines):
                line = self._next()
                if line is None:
                    raise self._wrong("ends within a file")
                sink.write(line + b"\n")
        self.replayed.files += 1
        return self._next_record()

    def _place(self, place: str, allowed: re.Pattern[str]) -> str:
        """Refuse a place that no exported run has: a file from elsewhere must not choose another."""
        if not allowed.fullmatch(place):
            raise self._wrong(f"{place!r} is not a place for this part of a run")
        return place

    def _next(self) -> bytes | None:
        self._number += 1
        return next(self._tape, None)

    def _next_record(self) -> CassetteResult | RunPart | FilePart | None:
        line = self._next()
        try:
            return None if line is None else self._decoder.decode(line)
        except MALFORMED_JSON as error:
            raise self._wrong(f"is no part of a cassette: {error}") from error

    def _wrong(self, problem: str) -> DataError:
        return DataError(self._path, problem, line=self._number)
