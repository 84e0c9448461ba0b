"""Compare the questions in two editions of a dataset, and find the measures that changed significantly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from ragbed.analysis.statistics.multiple import holm
from ragbed.builder.quality import Quality
from ragbed.builder.quality.measure import Measure
from ragbed.builder.quality.models import compare_shares
from ragbed.data import Dataset
from ragbed.schema import Answer
from ragbed.text import squeezed

_LEVEL = 0.05
# Minimum relative change to report for measures that are not shares. Their variance is unknown, so significance tests
# are not possible.
_LARGE_CHANGE = 0.2


class Shift(Struct, frozen=True):
    """A measure's values in two editions of a dataset."""

    before: Measure
    now: Measure
    p: float | None  # p-value for the difference between two shares, with Holm's correction for multiple tests
    is_changed: bool


class Drift(Struct, frozen=True):
    """The differences between two editions of a dataset."""

    before: dict[str, str]  # file hashes of the earlier edition's datasets, by dataset name
    shared: int
    added: int
    removed: int
    changed: tuple[str, ...]  # questions that are in both editions but have different answers
    shifts: tuple[Shift, ...]


def compare_editions(before: Quality, now: Quality, old: Iterable[Dataset], new: Iterable[Dataset]) -> Drift:
    """Compare two quality reports and the questions in their datasets."""
    asked_before, asked_now = _questions(old), _questions(new)
    return Drift(
        before=before.data,
        shared=len(asked_before.keys() & asked_now.keys()),
        added=len(asked_now.keys() - asked_before.keys()),
        removed=len(asked_before.keys() - asked_now.keys()),
        changed=tuple(
            question
            for question, answer in asked_now.items()
            if question in asked_before and not _is_same(asked_before[question], answer)
        ),
        shifts=tuple(_shifts(before, now)),
    )


def _questions(datasets: Iterable[Dataset]) -> dict[str, Answer]:
    return {" ".join(item.question.split()): item.answer for dataset in datasets for item in dataset.items()}


def _is_same(before: Answer, now: Answer) -> bool:
    """Return whether two answers have the same number of parts and each pair of corresponding parts shares an alias."""
    forms = [[set(map(squeezed, aliases)) for aliases in answer] for answer in (before, now)]
    return len(before) == len(now) and all(first & second for first, second in zip(*forms, strict=True))


def _shifts(before: Quality, now: Quality) -> Iterator[Shift]:
    pairs = list(_pairs(before, now))
    raw = [_p_value(old, new) for old, new in pairs]
    corrected = iter(holm([p for p in raw if p is not None]).tolist())
    for (old, new), p in zip(pairs, raw, strict=True):
        adjusted = None if p is None else next(corrected)
        yield Shift(old, new, adjusted, adjusted < _LEVEL if adjusted is not None else _is_far(old, new))


def _pairs(before: Quality, now: Quality) -> Iterator[tuple[Measure, Measure]]:
    for name, family in now.families.items():
        old = {measure.title: measure for measure in before.families.get(name, ())}
        yield from ((old[measure.title], measure) for measure in family if measure.title in old)


def _p_value(old: Measure, new: Measure) -> float | None:
    if old.unit != "share" or old.hits is None or new.hits is None or not old.n or not new.n:
        return None
    return compare_shares(old.hits, old.n, new.hits, new.n)


def _is_far(old: Measure, new: Measure) -> bool:
    if old.value is None or new.value is None:
        return old.value != new.value
    if old.unit == "count":
        return (old.value > 0) != (new.value > 0)
    return abs(new.value - old.value) > _LARGE_CHANGE * max(abs(old.value), abs(new.value))
