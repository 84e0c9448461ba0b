"""Partial sums (aggregates) of trials, in which questions with equal results are stored once with their count.

Questions are equal if their trials have the same conditions, outcomes and scores. Report cells do not distinguish equal
questions, so rates, intervals and tests are the same as from all trials, with far fewer rows. Only comparisons of
models or strategies by question need question names, which partial sums do not store. Partial sums that share no
questions can be added.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from tempfile import TemporaryFile
from typing import IO

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ragbed.analysis.metrics.trial import Asked, Scored, ScoreValue
from ragbed.analysis.metrics.trial_columns import TrialColumns, TrialGroup, group_trials

_LEFT_OUT = (
    "confidence",
    "no_confidence",
    "prompt_tokens",
    "tokens_estimated",
)  # scores to exclude, because they differ between almost all trials
_HELD = 1_000_000  # maximum number of trials in memory (32 bytes each) before they are written to temporary files
_FILES = 128  # number of temporary files over which questions are distributed; with 10⁸ trials, each file takes 25 MB
_NEXT = 0xFFFF_FFFF  # separator between the trials of two questions about one event
_ROW = np.dtype([("group", "<u4"), ("condition", "<u4"), ("placed", "<u4"), ("bare", "<u4"), ("cluster", "<u8"),
                 ("item", "<u8")])  # fmt: skip


class TrialPattern(Struct, frozen=True, array_like=True):
    """The condition, outcome and scores of a trial, without the question's name."""

    testbed: str
    arm: str
    noise: float | None
    correct: float
    k: int
    seed: int
    repeat: int
    slot: int  # position of the document with the answer; −1 unless several positions are evaluated
    noise_real: float | None
    outcome: Asked
    scores: dict[str, ScoreValue] | None


_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(TrialPattern)


@dataclass
class QuestionCounts:
    """The distinct questions in one group of trials, with their counts.

    `patterns` maps the JSON of each trial pattern to its index. `questions` counts questions (or events) by their
    trials, i.e. by their pattern indexes in ascending order, packed by question.
    """

    patterns: dict[bytes, int] = field(default_factory=dict)
    questions: Counter[bytes] = field(default_factory=Counter)

    def number(self, pattern: TrialPattern) -> int:
        """Return the index of a pattern, adding the pattern if it is new."""
        return self.patterns.setdefault(_ENCODER.encode(pattern), len(self.patterns))

    def decoded_patterns(self) -> list[TrialPattern]:
        """Return the patterns in the order of their indices."""
        return [_DECODER.decode(pattern) for pattern in self.patterns]

    def add(self, other: QuestionCounts) -> None:
        """Add the questions from another part of the trials."""
        numbers = np.array(
            [self.patterns.setdefault(pattern, len(self.patterns)) for pattern in other.patterns], np.uint32
        )
        for trials, count in other.questions.items():
            self.questions[pack(numbers[np.array(question)] for question in unpack(trials))] += count

    def in_order(self) -> QuestionCounts:
        """Return the same counts in an order that does not depend on the order in which they were added."""
        ordered = QuestionCounts({pattern: number for number, pattern in enumerate(sorted(self.patterns))})
        ordered.add(self)
        ordered.questions = Counter(dict(sorted(ordered.questions.items())))
        return ordered

    def to_columns(self, key: TrialGroup) -> TrialColumns:
        """Return the distinct questions and their counts as columns."""
        (patterns,) = group_trials(
            Scored(
                **key._asdict(),
                item="",
                slots=(pattern.slot,) if pattern.slot >= 0 else (),
                **{name: getattr(pattern, name) for name in TrialPattern.__struct_fields__ if name != "slot"},
            )
            for pattern in self.decoded_patterns()
        )
        packed = [np.frombuffer(trials, "<u4") for trials in self.questions]
        numbers = np.concatenate(packed) if packed else np.empty(0, np.uint32)
        sizes = np.array([len(trials) for trials in packed], np.int64)
        cluster, count = np.repeat(np.arange(len(packed)), sizes), np.repeat(list(self.questions.values()), sizes)
        starts = np.concatenate([[True], np.diff(cluster) > 0])[: len(numbers)]
        item = np.cumsum(starts | (numbers == _NEXT)) - 1
        kept = numbers != _NEXT
        trials = patterns.restricted(numbers[kept].astype(np.int64))
        names = ("",) * (int(item[-1]) + 1 if len(item) else 0)
        return replace(trials, items=names, item=item[kept], cluster=cluster[kept], count=count[kept])


def pack(questions: Iterable[Sequence[int] | NDArray[np.uint32]]) -> bytes:
    """Return the pattern indices of an event's questions as bytes that do not depend on the order of the questions."""
    parts = sorted(np.sort(np.asarray(numbers, "<u4")).tobytes() for numbers in questions)
    return np.uint32(_NEXT).tobytes().join(parts)


def unpack(trials: bytes) -> list[list[int]]:
    """Return the pattern indices of each question."""
    found: list[list[int]] = [[]]
    for number in np.frombuffer(trials, "<u4").tolist():
        found.append([]) if number == _NEXT else found[-1].append(number)
    return found


class PartialSumBuilder(ExitStack):
    """Counts questions from trials in any order, with bounded memory. Questions are identified by 64-bit hashes."""

    def __init__(self) -> None:
        super().__init__()
        self._groups: dict[TrialGroup, tuple[int, QuestionCounts]] = {}
        self._conditions: dict[tuple[object, ...], int] = {}
        self._rows = array("Q")
        self._files: list[IO[bytes]] = []

    def add(self, trial: Scored) -> None:
        """Add a trial."""
        key = TrialGroup(trial.model, trial.data, trial.lang, trial.profile)
        group, counts = self._groups.setdefault(key, (len(self._groups), QuestionCounts()))
        condition = (trial.testbed, trial.arm, trial.noise, trial.correct, trial.k, trial.seed, trial.repeat)
        scores: dict[str, ScoreValue] = {
            name: value
            for name, value in (trial.scores or {}).items()
            if isinstance(value, bool | float | int) and name not in _LEFT_OUT
        }
        result = (None if trial.noise_real is None else round(trial.noise_real, 3), trial.outcome, scores)
        slot = trial.slots[0] if trial.slots else -1
        placed = bare = counts.number(TrialPattern(*condition, slot, *result))
        if trial.testbed == "noise":  # the only testbed that permutes positions
            bare = counts.number(TrialPattern(*condition, -1, *result))
        number = self._conditions.setdefault(condition, len(self._conditions))
        item = _hash(trial.item)
        cluster = item if trial.cluster is None else _hash(f"event {trial.cluster}")
        self._rows.extend((group | number << 32, placed | bare << 32, cluster, item))
        if len(self._rows) >= 4 * _HELD:
            self._spill()

    def finish(self) -> dict[TrialGroup, QuestionCounts]:
        """Return the counts of all groups."""
        groups = [counts for _, counts in self._groups.values()]
        if not self._files:
            _count_questions(self._take(), groups)
        else:
            self._spill()
            for file in self._files:
                file.seek(0)
                _count_questions(np.frombuffer(file.read(), _ROW), groups)
        return {key: counts for key, (_, counts) in self._groups.items()}

    def _take(self) -> NDArray[np.void]:
        rows, self._rows = self._rows, array("Q")
        return np.frombuffer(rows.tobytes(), _ROW)

    def _spill(self) -> None:
        if not self._files:
            self._files = [self.enter_context(TemporaryFile()) for _ in range(_FILES)]  # noqa: SIM115 - entered
        rows = self._take()
        which = (rows["cluster"] % _FILES).astype(np.int64)
        rows = rows[np.argsort(which, kind="stable")]
        parts = np.split(rows, np.cumsum(np.bincount(which, minlength=_FILES)))
        for file, part in zip(self._files, parts, strict=False):
            file.write(part.tobytes())


def _hash(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _count_questions(rows: NDArray[np.void], groups: list[QuestionCounts]) -> None:
    """Count the questions in a set of rows, which must include all rows of each question."""
    rows = rows[np.lexsort((rows["condition"], rows["item"], rows["cluster"], rows["group"]))]
    starts = _changes(rows, ("group", "cluster", "item", "condition"))
    is_single = starts & np.append(starts[1:], True)  # the only trial for its question and condition
    numbers = np.where(is_single, rows["bare"], rows["placed"]).astype("<u4")
    order = np.lexsort((numbers, rows["item"], rows["cluster"], rows["group"]))
    rows, packed = rows[order], numbers[order].tobytes()
    first = np.flatnonzero(_changes(rows, ("group", "cluster")))
    item = _changes(rows, ("group", "cluster", "item"))
    ends = [*first[1:].tolist(), len(rows)] if len(first) else []
    items = np.add.reduceat(item, first, dtype=np.int64) if len(first) else first
    of = rows["group"][first].tolist()
    for start, end, group, is_event in zip(first.tolist(), ends, of, (items > 1).tolist(), strict=True):
        trials = packed[4 * start : 4 * end]
        if is_event:
            trials = pack(np.split(np.frombuffer(trials, "<u4"), np.flatnonzero(item[start + 1 : end]) + 1))
        groups[group].questions[trials] += 1


def _changes(rows: NDArray[np.void], names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return a mask of the rows that differ from the previous row in any of the given columns."""
    changes = np.ones(len(rows), np.bool_)
    changes[1:] = np.logical_or.reduce([rows[name][1:] != rows[name][:-1] for name in names])
    return changes
