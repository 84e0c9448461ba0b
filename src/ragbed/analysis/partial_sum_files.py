"""Sums of runs as files: written once by `ragbed score --sums`, added up, and reported without the runs.

One JSON object a line: which runs are in it, then every model on every dataset with its kinds of trials, and after it
its questions, equal ones once; in the end the number of these lines, without which a file is not whole. Equal sums are
equal bytes, whoever made them and in whatever order they were added.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Annotated

import msgspec
from msgspec import Meta, Struct

from ragbed import __version__
from ragbed.analysis.metrics import measure_sheets
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.metrics.partial_sums import PartialSumBuilder, QuestionCounts, TrialPattern, pack, unpack
from ragbed.analysis.metrics.trial import Scored
from ragbed.analysis.metrics.trial_columns import TRACKS, TrialGroup
from ragbed.analysis.run_cells import read_infeasible, to_trial
from ragbed.errors import MALFORMED_JSON, DataError, RagbedError, UsageError
from ragbed.io.jsonl import read_lines, write_whole
from ragbed.io.locations import Place, local_copy
from ragbed.runs.engines import Engine
from ragbed.runs.rows import StoredResult
from ragbed.runs.scoring import open_scored, spread_results
from ragbed.runs.sharding import SETTING, check_shards
from ragbed.scoring import open_tracks


class Summed(Struct, frozen=True):
    """One model of one run, or of a shard of it."""

    settings: str
    """The hash of what the run was begun with, the shard left out."""
    model: str
    shard: str | None
    data: tuple[tuple[str, str], ...]
    """Name and hash of every dataset."""
    profiles: tuple[str, ...]
    """Of its cases: trials under different ones never share a cell."""
    trials: int


class _Head(Struct, tag="sums", tag_field="is"):
    ragbed: str
    """The version that scored them."""
    runs: list[Summed]


class _Sheet(Struct, tag="sheet", tag_field="is"):
    of: TrialGroup
    kinds: list[TrialPattern]


class _Questions(Struct, tag="questions", tag_field="is"):
    n: Annotated[int, Meta(ge=1)]
    trials: list[Annotated[list[Annotated[int, Meta(ge=0)]], Meta(min_length=1)]]


class _End(Struct, tag="end", tag_field="is"):
    lines: int
    """Before this one."""


_DECODER = msgspec.json.Decoder(_Head | _Sheet | _Questions | _End)


class Sums:
    """What some runs come to."""

    def __init__(
        self,
        runs: Iterable[Summed] = (),
        sheets: dict[TrialGroup, QuestionCounts] | None = None,
        version: str = __version__,
    ) -> None:
        self.runs, self.sheets, self.version = list(runs), sheets or {}, version

    def add(self, other: Sums) -> None:
        """Adds other runs.

        Raises:
            UsageError: Questions would count twice, other data go by one name, or another version scored them.
        """
        if self.runs and self.version != other.version:
            raise UsageError(
                f"these sums are by ragbed {self.version} and {other.version}, which may score differently; make them "
                "again with one version: ragbed score RUN --sums FILE"
            )
        _check(self.runs, other.runs)
        self.version = other.version
        self.runs += other.runs
        for key, equal in other.sheets.items():
            self.sheets.setdefault(key, QuestionCounts()).add(equal)

    def cells(self, tracks: Sequence[str]) -> Iterator[Cell]:
        """The cells of a report, but for what compares models or remedies question by question.

        Raises:
            UsageError: A shard is missing, or nobody has such a track.
        """
        for track in tracks:
            if track not in TRACKS:
                raise UsageError(f"--track {track}: sums hold {', '.join(TRACKS)}; report the runs themselves.")
        for settings, model in {(one.settings, one.model) for one in self.runs}:
            check_shards([one.shard for one in self.runs if (one.settings, one.model) == (settings, model)])
        sheets = [equal.in_order().to_sheet(key) for key, equal in sorted(self.sheets.items())]
        return measure_sheets(sheets, tracks, by_name=False)

    @property
    def trials(self) -> int:
        """How many there were."""
        return sum(one.trials for one in self.runs)

    @property
    def questions(self) -> int:
        """How many different ones are held."""
        return sum(len(equal.questions) for equal in self.sheets.values())

    def write(self, sink: IO[bytes]) -> None:
        """Writes them as lines."""
        count = 0
        for count, line in enumerate(self._lines(), 1):  # noqa: B007 - the last is the number of all
            _put(sink, line)
        _put(sink, _End(count))

    def _lines(self) -> Iterator[Struct]:
        yield _Head(self.version, sorted(self.runs, key=_order))
        for key, equal in sorted(self.sheets.items()):
            ordered = equal.in_order()
            yield _Sheet(key, ordered.told)
            for trials, count in ordered.questions.items():
                yield _Questions(count, unpack(trials))


def _put(sink: IO[bytes], line: Struct) -> None:
    sink.write(msgspec.json.encode(line, order="deterministic") + b"\n")


def _order(one: Summed) -> tuple[str, ...]:
    return one.settings, one.model, one.shard or ""


def write_sums(sums: Sums, place: Place) -> str:
    """Writes a file of sums, and says what is in it."""
    with write_whole(place) as sink:
        sums.write(sink)
    return f"{sums.trials:,} trials as {sums.questions:,} different questions"


def read_sums(places: Sequence[Place]) -> Sums:
    """Files of sums, added up.

    Raises:
        DataError: One of them holds something else, or is not whole.
        UsageError: They do not add up (see `Sums.add`).
    """
    sums = Sums()
    for place in places:
        with local_copy(place) as here:
            sums.add(_read(here, place))
    return sums


_MAKE = "name what `ragbed score RUN --sums FILE` wrote, or a run's folder"


def _read(path: Path, shown: Place) -> Sums:
    reading = _Reading()
    for number, line in read_lines(path, shown):
        try:
            reading.take(_DECODER.decode(line))
        except MALFORMED_JSON as error:
            raise DataError(shown, f"is no line of sums ({error}); {_MAKE}", line=number) from None
    if not reading.sums.runs:
        raise DataError(shown, f"holds no sums; {_MAKE}")
    if not reading.is_whole:
        raise DataError(shown, "is cut off: its last line is missing; copy it again, or make it again")
    return reading.sums


class _Reading:
    """Takes the lines of a file: its head, every sheet with its questions, its end."""

    def __init__(self) -> None:
        self.sums, self._equal = Sums(), QuestionCounts()
        self.lines, self.is_whole = 0, False

    def take(self, record: _Head | _Sheet | _Questions | _End) -> None:
        """Takes the next line.

        Raises:
            msgspec.ValidationError: It does not belong here.
        """
        if self.is_whole:
            raise msgspec.ValidationError("the file ended before it: name several files one by one")
        if isinstance(record, _Head) != (self.lines == 0):
            raise msgspec.ValidationError("a head begins a file, and only there")
        if isinstance(record, _Head):
            self.sums = Sums(record.runs, version=record.ragbed)
        elif isinstance(record, _Sheet):
            self._begin(record)
        elif isinstance(record, _Questions):
            self._count(record)
        elif record.lines != self.lines:
            raise msgspec.ValidationError(f"{record.lines:,} lines should stand before it, there are {self.lines:,}")
        else:
            self.is_whole = True
        self.lines += 1

    def _begin(self, sheet: _Sheet) -> None:
        key = TrialGroup(*sheet.of)
        if key in self.sums.sheets:
            raise msgspec.ValidationError(f"{key.model} on {key.data} stands before already")
        self._equal = self.sums.sheets[key] = QuestionCounts()
        for kind in sheet.kinds:
            self._equal.number(kind)

    def _count(self, questions: _Questions) -> None:
        if max(map(max, questions.trials), default=0) >= len(self._equal.kinds):
            raise msgspec.ValidationError("a trial is of no kind that was told before")
        self._equal.questions[pack(questions.trials)] += questions.n


def sum_run(folder: Path, engine: Engine) -> Sums:
    """Scores a run and adds it up.

    Raises:
        RagbedError: It is being asked at this moment.
    """
    with open_scored(folder) as store, PartialSumBuilder() as folding:
        settings = store.settings()
        trials = dict.fromkeys((name for name, _ in store.models().values()), 0)
        for trial in read_infeasible(store):
            folding.add(trial)
        rows = seals = 0
        for part in spread_results(store, folder, engine, _score):
            rows, seals = rows + part.rows, seals + part.seals
            for trial in part.found:
                trials[trial.model] += 1
                folding.add(trial)
        if not store.is_whole(rows, seals):
            raise RagbedError(f"{folder} is being asked at this moment, or is damaged; type it again afterwards.")
        sheets = folding.finish()
        return Sums(_summed(settings, trials, sheets), sheets)


def _score(results: Iterable[StoredResult]) -> list[Scored]:
    score = open_tracks(TRACKS)
    return [to_trial(stored, score) for stored in results]


def _summed(settings: dict[str, str], trials: dict[str, int], sheets: Iterable[TrialGroup]) -> Iterator[Summed]:
    told = {name: value for name, value in settings.items() if name != SETTING}
    digest = hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()
    data = tuple(
        (name.removeprefix("data "), value) for name, value in sorted(told.items()) if name.startswith("data ")
    )
    for model, count in trials.items():
        profiles = tuple(sorted({key.profile for key in sheets if key.model == model}))
        yield Summed(digest, model, settings.get(SETTING), data, profiles, count)


def _check(ours: Sequence[Summed], others: Sequence[Summed]) -> None:
    """Sums name no question, so that none may be in two of them: other shards, models, profiles or data add up."""
    hashes = {name: digest for one in ours for name, digest in one.data}
    known: dict[str, list[Summed]] = {}
    for one in ours:
        known.setdefault(one.model, []).append(one)
    for one in others:
        for name, digest in one.data:
            if hashes.setdefault(name, digest) != digest:
                raise UsageError(f"these were asked different {name!r} under one name; report them apart.")
        for before in known.setdefault(one.model, []):
            _check_pair(before, one)
        known[one.model].append(one)


def _check_pair(one: Summed, other: Summed) -> None:
    """Two of one model."""
    if one.settings == other.settings:
        if one.shard == other.shard:
            shard = "" if one.shard is None else f" (shard {one.shard})"
            raise UsageError(f"{one.model}{shard} with the same settings is in two of these; it would count twice.")
        if one.shard and other.shard and one.shard.partition("/")[2] == other.shard.partition("/")[2]:
            return
    shared = {name for name, _ in one.data} & {name for name, _ in other.data}
    if one.settings == other.settings or (shared and set(one.profiles) & set(other.profiles)):
        raise UsageError(
            f"{one.model} was asked about {', '.join(sorted(shared)) or 'the same data'} by several runs of these, of "
            "which sums cannot tell the same questions: they would count twice. Report the runs, or the sums apart."
        )
