"""Sums of runs as files: written once by `ragbed score --sums`, added up, and reported without the runs.

One JSON object a line: which runs are in it, then every model on every dataset with its kinds of trials, and after it
its questions, equal ones once. Equal sums are equal bytes, whoever made them and in whatever order they were added.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Annotated

import msgspec
from msgspec import Meta, Struct

from ragbed import __version__
from ragbed.engines import Engine
from ragbed.errors import DataError, RagbedError, UsageError
from ragbed.metrics import measure_sheets
from ragbed.metrics.cells import Cell
from ragbed.metrics.sheet import TRACKS, Key
from ragbed.metrics.sums import Equal, Folding, Kind, pack, unpack
from ragbed.metrics.trial import Scored
from ragbed.places import Place, brought
from ragbed.report.reading import read_infeasible, to_trial
from ragbed.runner.rows import Stored
from ragbed.runner.scoring import open_scored, spread_results
from ragbed.runner.shard import SETTING, check_shards
from ragbed.scorers import open_tracks
from ragbed.store import read_lines, write_whole


class Summed(Struct, frozen=True):
    """One model of one run, or of a shard of it."""

    settings: str
    """The hash of what the run was begun with, the shard left out."""
    model: str
    shard: str | None
    data: tuple[tuple[str, str], ...]
    """Name and hash of every dataset."""
    trials: int


class _Head(Struct, tag="sums", tag_field="is"):
    ragbed: str
    runs: list[Summed]


class _Sheet(Struct, tag="sheet", tag_field="is"):
    of: Key
    kinds: list[Kind]


class _Questions(Struct, tag="questions", tag_field="is"):
    n: Annotated[int, Meta(ge=1)]
    trials: list[Annotated[list[Annotated[int, Meta(ge=0)]], Meta(min_length=1)]]


_DECODER = msgspec.json.Decoder(_Head | _Sheet | _Questions)


class Sums:
    """What some runs come to."""

    def __init__(self, runs: Iterable[Summed] = (), sheets: dict[Key, Equal] | None = None) -> None:
        self.runs, self.sheets = list(runs), sheets or {}

    def add(self, other: Sums) -> None:
        """Adds other runs.

        Raises:
            UsageError: One of them is in both, or other data go by one name.
        """
        _check(self.runs, other.runs)
        self.runs += other.runs
        for key, equal in other.sheets.items():
            self.sheets.setdefault(key, Equal()).add(equal)

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
        _put(sink, _Head(__version__, sorted(self.runs, key=_order)))
        for key, equal in sorted(self.sheets.items()):
            ordered = equal.in_order()
            _put(sink, _Sheet(key, ordered.told))
            for trials, count in ordered.questions.items():
                _put(sink, _Questions(count, unpack(trials)))


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
        DataError: One of them holds something else.
        UsageError: A run is in two of them, or other data go by one name.
    """
    sums = Sums()
    for place in places:
        with brought(place) as here:
            sums.add(_read(here, place))
    return sums


def _read(path: Path, shown: Place) -> Sums:
    found, equal = Sums(), Equal()
    for number, line in read_lines(path, shown):
        try:
            record = _DECODER.decode(line)
            if isinstance(record, _Head):
                found.runs += record.runs
            elif isinstance(record, _Sheet):
                equal = found.sheets[Key(*record.of)] = Equal()
                for kind in record.kinds:
                    equal.number(kind)
            elif max(map(max, record.trials), default=0) >= len(equal.kinds):
                raise msgspec.ValidationError("a trial is of no kind that was told before")
            else:
                equal.questions[pack(record.trials)] += record.n
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            told = f"is no line of sums ({error}); name what `ragbed score RUN --sums FILE` wrote, or a run's folder"
            raise DataError(shown, told, line=number) from None
    if not found.runs:
        raise DataError(shown, "holds no sums; name what `ragbed score RUN --sums FILE` wrote, or a run's folder")
    return found


def sum_run(folder: Path, engine: Engine) -> Sums:
    """Scores a run and adds it up.

    Raises:
        RagbedError: It is being asked at this moment.
    """
    with open_scored(folder) as store, Folding() as folding:
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
        return Sums(_summed(settings, trials), folding.finish())


def _score(results: Iterable[Stored]) -> list[Scored]:
    score = open_tracks(TRACKS)
    return [to_trial(stored, score) for stored in results]


def _summed(settings: dict[str, str], trials: dict[str, int]) -> Iterator[Summed]:
    told = {name: value for name, value in settings.items() if name != SETTING}
    digest = hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()
    data = tuple(
        (name.removeprefix("data "), value) for name, value in sorted(told.items()) if name.startswith("data ")
    )
    for model, count in trials.items():
        yield Summed(digest, model, settings.get(SETTING), data, count)


def _check(ours: Sequence[Summed], others: Sequence[Summed]) -> None:
    known = {(one.settings, one.model, one.shard) for one in ours}
    hashes = {name: digest for one in ours for name, digest in one.data}
    for one in others:
        if (one.settings, one.model, one.shard) in known:
            shard = "" if one.shard is None else f" (shard {one.shard})"
            raise UsageError(f"{one.model}{shard} with the same settings is in two of these; it would count twice.")
        for name, digest in one.data:
            if hashes.setdefault(name, digest) != digest:
                raise UsageError(f"these were asked different {name!r} under one name; report them apart.")
