"""Read, write and merge partial-sum files (`ragbed score --aggregates`), from which reports can be built without runs.

A file has one JSON object per line: the runs it contains, then each model on each dataset with its trial patterns and
its distinct questions, and finally the number of lines, which reveals truncated files. Equal sums give
equal bytes, regardless of the order in which they were added.

Parquet was measured as an alternative. As a container for the same sums of 10⁶ trials, `pyarrow` reads 1.6 times slower
(2.2 s versus 1.3 s), the report needs 1.5 times the memory (313 MB versus 214 MB), and the code is the same except for
the decoder, because the checks below do not depend on the container. A Parquet table of the trials themselves needs no
sums, but its report needs 847 MB for 10⁶ trials, four times as much, and grows with their number: about 8 GB for 10⁷
trials, for which sums need 638 MB. `pyarrow` adds 151 MB to the core installation.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, ValidationError

from ragbed import __version__
from ragbed.analysis.metrics import measure_groups
from ragbed.analysis.metrics.cells import Cell, narrow_cells
from ragbed.analysis.metrics.partial_sums import PartialSumBuilder, QuestionCounts, TrialPattern, pack, unpack
from ragbed.analysis.metrics.trial import Scored
from ragbed.analysis.metrics.trial_columns import TRACKS, TrialGroup
from ragbed.analysis.run_cells import read_infeasible, to_trial
from ragbed.analysis.statistics.rates import ALPHA
from ragbed.errors import MALFORMED_JSON, DataError, RagbedError, UsageError
from ragbed.io.jsonl import read_lines, write_whole
from ragbed.io.locations import Place, local_copy
from ragbed.runs.condition import largest_cluster
from ragbed.runs.decided import COMPARISON, DecidedInterval, read_conditions
from ragbed.runs.display_names import ServedModels, changed_models, name_models
from ragbed.runs.engines import Engine
from ragbed.runs.rows import StoredResult
from ragbed.runs.scoring import open_scored, spread_results
from ragbed.runs.sharding import SETTING, check_shards
from ragbed.scoring import open_tracks
from ragbed.scoring.version import scorer_hash


class Summed(Struct, frozen=True, omit_defaults=True):
    """The origin of partial sums: one model in one run or shard."""

    settings: str  # hash of the run's settings, excluding the shard
    model: str
    shard: str | None
    data: tuple[tuple[str, str], ...]  # name and hash of each dataset
    profiles: tuple[str, ...]  # profiles used by the cases; trials with different profiles never share a cell
    trials: int
    is_monitored: bool = False  # whether the run was monitored (`--until`)
    largest: int = 0  # for a monitored run, the maximum number of planned trials per question or event in a condition
    decided: tuple[DecidedInterval, ...] = ()  # confidence intervals behind the run's `--until` decisions
    served: tuple[str, ...] = ()  # the models that the server reported; if there are several, each has its own groups
    name: str = ""  # the display name set by the user (`--model NAME=…`), if any
    pending: int = 0  # number of planned trials without a result, if the run is incomplete


class _Head(Struct, tag="sums", tag_field="is"):
    ragbed: str  # the version of ragbed that scored the trials
    runs: list[Summed]
    scorer: str = ""  # hash of the scorers; empty in files from earlier versions


class _Group(Struct, tag="sheet", tag_field="is"):
    of: TrialGroup
    kinds: list[TrialPattern]


class _Questions(Struct, tag="questions", tag_field="is"):
    n: Annotated[int, Meta(ge=1)]
    trials: list[Annotated[list[Annotated[int, Meta(ge=0)]], Meta(min_length=1)]]


class _End(Struct, tag="end", tag_field="is"):
    lines: int  # number of lines before this record


_Record = _Head | _Group | _Questions | _End
_DECODER = msgspec.json.Decoder(_Record)


@dataclass
class Sums:
    """The partial sums of one or more runs."""

    runs: list[Summed] = field(default_factory=list)
    groups: dict[TrialGroup, QuestionCounts] = field(default_factory=dict)
    version: str = __version__
    scorer: str = field(default_factory=scorer_hash)

    def add(self, other: Sums) -> None:
        """Add the sums from other runs.

        Raises:
            UsageError: Questions would count twice, datasets with the same name differ, different models were served
                under one name, or the trials were scored by different versions.
        """
        if self.runs and (self.version, self.scorer) != (other.version, other.scorer):
            first, second = (f"ragbed {sums.version} (scorer {sums.scorer or 'unknown'})" for sums in (self, other))
            raise UsageError(
                f"these aggregate files were written by {first} and {second}, which may score responses differently. "
                "Score all runs with the same version: ragbed score RUN --aggregates FILE"
            )
        _check(self.runs, other.runs)
        self.version, self.scorer = other.version, other.scorer
        self.runs += other.runs
        for key, counts in other.groups.items():
            self.groups.setdefault(key, QuestionCounts()).add(counts)

    def cells(self, tracks: Sequence[str]) -> Iterator[Cell]:
        """Return the cells of a report, except those that compare models or strategies question by question.

        Raises:
            UsageError: A shard is missing, or partial sums do not include a track.
        """
        for track in tracks:
            if track not in TRACKS:
                raise UsageError(
                    f"track={track}: aggregate files contain only the tracks {', '.join(TRACKS)}. Create the report "
                    "from the "
                    "runs instead."
                )
        shards: dict[tuple[str, str], list[str | None]] = {}
        for run in self.runs:
            shards.setdefault((run.settings, run.model), []).append(run.shard)
        for found in shards.values():
            check_shards(found)
        largest = max((run.largest for run in self.runs), default=0)
        groups = [
            replace(counts.in_order().to_columns(key), largest=largest) for key, counts in sorted(self.groups.items())
        ]
        alpha = ALPHA if self.is_monitored else None
        decided = [one for one in self.conditions if (one.state, one.scorer) == ("decided", self.scorer)]
        return narrow_cells(measure_groups(groups, tracks, by_name=False, alpha=alpha), decided, ALPHA)

    @property
    def conditions(self) -> list[DecidedInterval]:
        """Return `--until` outcomes, except for models with several runs or shards, whose outcomes cannot be merged."""
        parts = Counter(run.model for run in self.runs)
        return [one for run in self.runs for one in run.decided if parts[run.model] == 1]

    @property
    def names(self) -> dict[str, str]:
        """Return unique display names for all models."""
        given = {run.model: run.name for run in reversed(self.runs) if run.name}
        served: dict[str, list[str]] = {}
        for run in self.runs:
            served.setdefault(run.model, []).extend(run.served)
        return name_models(served, given, served)

    @property
    def is_monitored(self) -> bool:
        """Return whether any of the runs was monitored (`--until`)."""
        return any(run.is_monitored for run in self.runs)

    @property
    def trials(self) -> int:
        """Return the number of trials."""
        return sum(run.trials for run in self.runs)

    @property
    def pending(self) -> int:
        """Return the number of planned trials without a result in incomplete runs."""
        return sum(run.pending for run in self.runs)

    @property
    def questions(self) -> int:
        """Return the number of distinct questions."""
        return sum(len(counts.questions) for counts in self.groups.values())

    def records(self) -> Iterator[Struct]:
        """Yield the records of a partial-sum file, one per line."""
        runs = sorted(self.runs, key=lambda run: (run.settings, run.model, run.shard or ""))
        yield _Head(self.version, runs, self.scorer)
        lines = 1
        for key, counts in sorted(self.groups.items()):
            ordered = counts.in_order()
            yield _Group(key, ordered.decoded_patterns())
            for trials, count in ordered.questions.items():
                yield _Questions(count, unpack(trials))
            lines += 1 + len(ordered.questions)
        yield _End(lines)


def write_sums(sums: Sums, place: Place) -> str:
    """Write a partial-sum file and return a summary of it."""
    with write_whole(place) as sink:
        sink.writelines(msgspec.json.encode(record, order="deterministic") + b"\n" for record in sums.records())
    return f"{sums.trials:,} trials aggregated into {sums.questions:,} distinct questions"


def read_sums(places: Sequence[Place]) -> Sums:
    """Read partial-sum files and add them up.

    Raises:
        DataError: A file is not a partial-sum file or is truncated.
        UsageError: The sums cannot be added (see `Sums.add`).
    """
    sums = Sums()
    for place in places:
        with local_copy(place) as here:
            sums.add(_read(here, place))
    return sums


_FIX = "use a file written by `ragbed score RUN --aggregates FILE`, or the folder of a run"


def _read(path: Path, shown: Place) -> Sums:
    reader = _Reader()
    for number, line in read_lines(path, shown):
        try:
            reader.take(_DECODER.decode(line.replace(b',"refused",', b',"filtered",')))  # older files use "refused"
        except MALFORMED_JSON as error:
            raise DataError(
                shown, f"the line is not valid in an aggregate file ({error}); {_FIX}", line=number
            ) from None
    if not reader.sums.runs:
        raise DataError(shown, f"contains no aggregates; {_FIX}")
    if not reader.is_complete:
        raise DataError(shown, "is truncated (its last line is missing); copy the file again, or score the run again")
    return reader.sums


class _Reader:
    """Collects a file's lines and checks their order."""

    def __init__(self) -> None:
        self.sums, self._counts = Sums(), QuestionCounts()
        self._lines, self.is_complete = 0, False

    def take(self, record: _Record) -> None:
        if self.is_complete:
            raise ValidationError(
                "the file continues after its end marker; if several files were concatenated, pass them separately"
            )
        if isinstance(record, _Head) != (self._lines == 0):
            raise ValidationError("the header must appear on the first line and nowhere else")
        if isinstance(record, _Head):
            self.sums = Sums(record.runs, version=record.ragbed, scorer=record.scorer)
        elif isinstance(record, _Group):
            self._start_group(record)
        elif isinstance(record, _Questions):
            if max(map(max, record.trials), default=0) >= len(self._counts.patterns):
                raise ValidationError("a trial refers to a pattern that is not defined on an earlier line")
            self._counts.questions[pack(record.trials)] += record.n
        elif record.lines != self._lines:
            raise ValidationError(f"expected {record.lines:,} lines before this one, but found {self._lines:,}")
        else:
            self.is_complete = True
        self._lines += 1

    def _start_group(self, record: _Group) -> None:
        key = TrialGroup(*record.of)
        if key in self.sums.groups:
            raise ValidationError(f"{key.model} on {key.data} appears twice")
        self._counts = self.sums.groups[key] = QuestionCounts()
        for pattern in record.kinds:
            self._counts.number(pattern)


def sum_run(folder: Path, engine: Engine) -> Sums:
    """Score a run and return its partial sums.

    Raises:
        RagbedError: Another process is writing to the run.
    """
    with open_scored(folder) as store, PartialSumBuilder() as builder:
        settings = store.settings()
        trials = dict.fromkeys((name for name, _ in store.models().values()), 0)
        split = changed_models(store)
        for trial in read_infeasible(store, split):
            builder.add(trial)
        rows = seals = 0
        for part in spread_results(store, folder, engine, partial(_score, split)):
            rows, seals = rows + part.rows, seals + part.seals
            for model, trial in part.found:
                trials[model] += 1
                builder.add(trial)
        if not store.is_whole(rows, seals):
            raise RagbedError(
                f"{folder} is damaged or in use by another process. If a process is writing to it, wait until "
                "that process has finished, then rerun the command."
            )
        groups = builder.finish()
        largest = largest_cluster(store.cases(), store.repeats()) if store.is_monitored() else 0
        # A monitored run may stop before all cases have a result.
        is_complete = store.is_monitored() or store.is_imported()
        summed = _summed(settings, trials, groups, largest, 0 if is_complete else store.size(store.repeats()))
        decided, served, names = read_conditions(store), store.served(), store.names()
        notes = [(run, served.get(run.model, ()), names.get(run.model, "")) for run in summed]
        return Sums([_with_notes(run, decided, reported, name) for run, reported, name in notes], groups)


def _with_notes(run: Summed, decided: Sequence[DecidedInterval], served: Sequence[str], name: str) -> Summed:
    """Add the display name, the models that the server reported, and the decisions about a run's cells.

    Decisions that compare runs are left out, because partial sums do not contain the comparisons.
    """
    own = [one for one in decided if one.model == run.model and one.table != COMPARISON]
    return msgspec.structs.replace(run, decided=tuple(own), served=tuple(served), name=name)


def _score(split: dict[str, ServedModels], results: Iterable[StoredResult]) -> list[tuple[str, Scored]]:
    """Return each result's model and its trial, which names the served model if the model is in `split`."""
    score = open_tracks(TRACKS)
    return [(stored.model, to_trial(stored, score, split)) for stored in results]


def _summed(
    settings: dict[str, str], trials: dict[str, int], groups: Iterable[TrialGroup], largest: int, planned: int
) -> Iterator[Summed]:
    shared = {name: value for name, value in settings.items() if name != SETTING}
    digest = hashlib.sha256(msgspec.json.encode(shared, order="sorted")).hexdigest()
    data = tuple(
        (name.removeprefix("data "), value) for name, value in sorted(shared.items()) if name.startswith("data ")
    )
    profiles = tuple(sorted({key.profile for key in groups}))
    for model, count in trials.items():
        run = Summed(digest, model, settings.get(SETTING), data, profiles, count, "until" in settings, largest)
        yield msgspec.structs.replace(run, pending=max(0, planned - count))


def _check(ours: Sequence[Summed], others: Sequence[Summed]) -> None:
    """Check that no question is in both files. Sums have no question names, so the shard, model or data must differ."""
    hashes = {name: digest for run in ours for name, digest in run.data}
    known: dict[str, list[Summed]] = {}
    for run in ours:
        known.setdefault(run.model, []).append(run)
    for run in others:
        for name, digest in run.data:
            if hashes.setdefault(name, digest) != digest:
                raise UsageError(
                    f"these runs use different datasets that are both named {name!r}. Create a separate report "
                    "for each run."
                )
        for before in known.setdefault(run.model, []):
            _check_pair(before, run)
        known[run.model].append(run)
    for runs in known.values():
        served = dict.fromkeys(name for run in runs for name in run.served)
        if len(served) > 1 and any(len(run.served) == 1 for run in runs):
            raise UsageError(
                f"the server for {runs[0].model} served several models ({', '.join(served)}), and these aggregate "
                "files cannot show them separately. Create the report from the run folders instead."
            )


def _check_pair(one: Summed, other: Summed) -> None:
    """Check that two runs of the same model have no question in common."""
    if one.settings == other.settings:
        if one.shard == other.shard:
            shard = "" if one.shard is None else f" (shard {one.shard})"
            raise UsageError(
                f"two of these aggregate files contain results for {one.model}{shard} with the same settings. "
                "Use only one of them."
            )
        if one.shard and other.shard and one.shard.partition("/")[2] == other.shard.partition("/")[2]:
            return
    shared = {name for name, _ in one.data} & {name for name, _ in other.data}
    if one.settings == other.settings or (shared and set(one.profiles) & set(other.profiles)):
        raise UsageError(
            f"several of these aggregate files cover {one.model} on {', '.join(sorted(shared)) or 'the same data'}. "
            "Aggregate files do not identify questions, so the same questions could be counted more than "
            "once. Create the report from the run folders instead, or create a separate report for each file."
        )
