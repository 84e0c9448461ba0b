"""Partial sums: of questions with equal trials one is held, and how many there are.

Trials are equal if condition, outcome and scores are. No cell of a report tells equal questions apart, so rates,
intervals and tests come out as from all trials, from far fewer rows; only what compares models or remedies question by
question needs names, which sums do not have. Sums of parts that share no question add up.
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
from ragbed.analysis.metrics.trial_columns import TrialColumns, TrialGroup, make_sheets

_HELD = 1_000_000
"""Trials that are held before they go to files, 32 bytes each."""
_FILES = 128
"""Over which trials are spread by their question: of 10⁸, each has 25 MB, which is looked at in one piece."""
_NEXT = 0xFFFF_FFFF
"""Stands between the trials of two questions of one event."""
_ROW = np.dtype([("sheet", "<u4"), ("condition", "<u4"), ("placed", "<u4"), ("bare", "<u4"), ("cluster", "<u8"),
                 ("item", "<u8")])  # fmt: skip


class TrialPattern(Struct, frozen=True, array_like=True):
    """What one trial says, without the question's name."""

    testbed: str
    arm: str
    noise: float | None
    correct: float
    k: int
    seed: int
    repeat: int
    slot: int
    """−1 where its question stands at this slot only: then it tells nothing."""
    noise_real: float | None
    outcome: Asked
    scores: dict[str, ScoreValue] | None


_ENCODER = msgspec.json.Encoder(order="deterministic")
_KIND = msgspec.json.Decoder(TrialPattern)


@dataclass
class QuestionCounts:
    """The equal questions of one sheet."""

    kinds: dict[bytes, int] = field(default_factory=dict)
    """The number of every kind of trial, by its JSON."""
    questions: Counter[bytes] = field(default_factory=Counter)
    """How many questions, or events, have these trials: numbers of kinds, ascending, question after question."""

    def number(self, kind: TrialPattern) -> int:
        """The number of a kind, which may be new."""
        return self.kinds.setdefault(_ENCODER.encode(kind), len(self.kinds))

    @property
    def told(self) -> list[TrialPattern]:
        """The kinds, in the order of their numbers."""
        return [_KIND.decode(kind) for kind in self.kinds]

    def add(self, other: QuestionCounts) -> None:
        """Adds those of another part."""
        ours = np.array([self.kinds.setdefault(kind, len(self.kinds)) for kind in other.kinds], np.uint32)
        for trials, count in other.questions.items():
            self.questions[pack(ours[np.array(one)] for one in unpack(trials))] += count

    def in_order(self) -> QuestionCounts:
        """The same, in an order that does not depend on how it came about."""
        ordered = QuestionCounts({kind: number for number, kind in enumerate(sorted(self.kinds))})
        ordered.add(self)
        ordered.questions = Counter(dict(sorted(ordered.questions.items())))
        return ordered

    def to_sheet(self, key: TrialGroup) -> TrialColumns:
        """The questions as a sheet, each with its count."""
        kinds = _sheet_of_kinds(key, self.told)
        packed = [np.frombuffer(trials, "<u4") for trials in self.questions]
        numbers = np.concatenate(packed) if packed else np.empty(0, np.uint32)
        sizes = np.array([len(one) for one in packed], np.int64)
        cluster, count = np.repeat(np.arange(len(packed)), sizes), np.repeat(list(self.questions.values()), sizes)
        begins = np.concatenate([[True], np.diff(cluster) > 0])[: len(numbers)]
        item = np.cumsum(begins | (numbers == _NEXT)) - 1
        there = numbers != _NEXT
        sheet = kinds.restricted(numbers[there].astype(np.int64))
        names = ("",) * (int(item[-1]) + 1 if len(item) else 0)
        return replace(sheet, items=names, item=item[there], cluster=cluster[there], count=count[there])


def _sheet_of_kinds(key: TrialGroup, kinds: list[TrialPattern]) -> TrialColumns:
    return make_sheets(
        Scored(
            **key._asdict(),
            item="",
            slots=(kind.slot,) if kind.slot >= 0 else (),
            **{name: getattr(kind, name) for name in TrialPattern.__struct_fields__ if name != "slot"},
        )
        for kind in kinds
    )[0]


def pack(items: Iterable[Sequence[int] | NDArray[np.uint32]]) -> bytes:
    """The trials of the questions of an event, so that equal ones are equal bytes."""
    parts = sorted(np.sort(np.asarray(one, "<u4")).tobytes() for one in items)
    return np.uint32(_NEXT).tobytes().join(parts)


def unpack(trials: bytes) -> list[list[int]]:
    """The numbers of kinds, question by question."""
    found: list[list[int]] = [[]]
    for number in np.frombuffer(trials, "<u4").tolist():
        found.append([]) if number == _NEXT else found[-1].append(number)
    return found


class PartialSumBuilder:
    """Takes trials in any order and adds equal questions up, in bounded memory: a question is known by 64 bits."""

    def __init__(self) -> None:
        self._sheets: dict[TrialGroup, tuple[int, QuestionCounts]] = {}
        self._conditions: dict[tuple[object, ...], int] = {}
        self._rows = array("Q")
        self._files: list[IO[bytes]] = []
        self._stack = ExitStack()

    def __enter__(self) -> PartialSumBuilder:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, trial: Scored) -> None:
        """Takes a trial."""
        key = TrialGroup(trial.model, trial.data, trial.lang, trial.profile)
        sheet, equal = self._sheets.setdefault(key, (len(self._sheets), QuestionCounts()))
        condition = (trial.testbed, trial.arm, trial.noise, trial.correct, trial.k, trial.seed, trial.repeat)
        told = (trial.scores or {}).items()
        scores: dict[str, ScoreValue] = {name: one for name, one in told if isinstance(one, bool | float | int)}
        real = None if trial.noise_real is None else round(trial.noise_real, 3)
        slot = trial.slots[0] if trial.slots else -1
        placed = equal.number(TrialPattern(*condition, slot, real, trial.outcome, scores))
        # Only the noise testbed is laid out at every slot.
        bare = (
            equal.number(TrialPattern(*condition, -1, real, trial.outcome, scores))
            if trial.testbed == "noise"
            else placed
        )
        number = self._conditions.setdefault(condition, len(self._conditions))
        item = _hash(trial.item)
        cluster = item if trial.cluster is None else _hash(f"event {trial.cluster}")
        self._rows.extend((sheet | number << 32, placed | bare << 32, cluster, item))
        if len(self._rows) >= 4 * _HELD:
            self._spill()

    def finish(self) -> dict[TrialGroup, QuestionCounts]:
        """The sums."""
        names = [equal for _, equal in self._sheets.values()]
        if not self._files:
            _fold(self._take(), names)
        else:
            self._spill()
            for file in self._files:
                file.seek(0)
                _fold(np.frombuffer(file.read(), _ROW), names)
        return {key: equal for key, (_, equal) in self._sheets.items()}

    def _take(self) -> NDArray[np.void]:
        rows, self._rows = self._rows, array("Q")
        return np.frombuffer(rows.tobytes(), _ROW)

    def _spill(self) -> None:
        if not self._files:
            self._files = [self._stack.enter_context(TemporaryFile()) for _ in range(_FILES)]  # noqa: SIM115 - entered
        rows = self._take()
        which = (rows["cluster"] % _FILES).astype(np.int64)
        rows = rows[np.argsort(which, kind="stable")]
        for file, part in zip(
            self._files, np.split(rows, np.cumsum(np.bincount(which, minlength=_FILES))), strict=False
        ):
            file.write(part.tobytes())


def _hash(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _fold(rows: NDArray[np.void], sheets: list[QuestionCounts]) -> None:
    """Counts the questions of some rows; all rows of a question are among them."""
    rows = rows[np.lexsort((rows["condition"], rows["item"], rows["cluster"], rows["sheet"]))]
    numbers = np.where(_alone(rows), rows["bare"], rows["placed"]).astype("<u4")
    order = np.lexsort((numbers, rows["item"], rows["cluster"], rows["sheet"]))
    rows, packed = rows[order], numbers[order].tobytes()
    first = np.flatnonzero(_changes(rows, ("sheet", "cluster")))
    item = _changes(rows, ("sheet", "cluster", "item"))
    ends = [*first[1:].tolist(), len(rows)] if len(first) else []
    items = np.add.reduceat(item, first, dtype=np.int64) if len(first) else first
    of = rows["sheet"][first].tolist()
    for start, end, sheet, several in zip(first.tolist(), ends, of, (items > 1).tolist(), strict=True):
        trials = packed[4 * start : 4 * end]
        if several:
            trials = pack(np.split(np.frombuffer(trials, "<u4"), np.flatnonzero(item[start + 1 : end]) + 1))
        sheets[sheet].questions[trials] += 1


def _changes(rows: NDArray[np.void], names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Where a row differs from the one before it in any of some columns."""
    changes = np.ones(len(rows), np.bool_)
    changes[1:] = np.logical_or.reduce([rows[name][1:] != rows[name][:-1] for name in names])
    return changes


def _alone(rows: NDArray[np.void]) -> NDArray[np.bool_]:
    """Which trials are the only ones of their question and condition."""
    begins = _changes(rows, ("sheet", "cluster", "item", "condition"))
    return np.asarray(begins & np.append(begins[1:], True))
