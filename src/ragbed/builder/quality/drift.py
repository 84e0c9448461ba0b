"""Two editions side by side: which questions are new, and which figures have changed by more than chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from ragbed.analysis.statistics.multiple import holm
from ragbed.analysis.statistics.unpaired import fisher, two_proportions
from ragbed.builder.quality import Quality
from ragbed.builder.quality.measure import Measure
from ragbed.data import Dataset
from ragbed.schema import Answer
from ragbed.text import squeezed

_LEVEL = 0.05
_EXACT = 1_000
"""Counts up to here are tested exactly; beyond, the normal approximation is as good."""
_MUCH = 0.2
"""A number that is no share counts as changed from a fifth on: there is no test without its spread."""


class Shift(Struct, frozen=True):
    """One figure in two editions."""

    before: Measure
    now: Measure
    p: float | None
    """Of two shares: that chance alone makes such a difference, Holm's correction for their number included."""
    is_changed: bool


class Drift(Struct, frozen=True):
    """What has changed since another edition."""

    before: dict[str, str]
    """Its datasets and the hashes of their files."""
    shared: int
    added: int
    removed: int
    changed: tuple[str, ...]
    """Questions that are in both and have another answer now."""
    shifts: tuple[Shift, ...]


def compare_editions(before: Quality, now: Quality, old: Iterable[Dataset], new: Iterable[Dataset]) -> Drift:
    """Compares two reports and the questions of the datasets they are about."""
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
    """Whether two answers have as many parts, each with a form in common."""
    forms = [[{squeezed(alias) for alias in aliases} for aliases in answer] for answer in (before, now)]
    return len(before) == len(now) and all(one & other for one, other in zip(*forms, strict=True))


def _shifts(before: Quality, now: Quality) -> Iterator[Shift]:
    pairs = list(_pairs(before, now))
    raw = [_chance(one, other) for one, other in pairs]
    corrected = iter(holm([p for p in raw if p is not None]).tolist())
    for (one, other), p in zip(pairs, raw, strict=True):
        adjusted = None if p is None else next(corrected)
        yield Shift(one, other, adjusted, adjusted < _LEVEL if adjusted is not None else _is_far(one, other))


def _pairs(before: Quality, now: Quality) -> Iterator[tuple[Measure, Measure]]:
    """The figures that both have, by name and language."""
    for name, family in now.families.items():
        old = {one.title: one for one in before.families.get(name, ())}
        yield from ((old[one.title], one) for one in family if one.title in old)


def _chance(one: Measure, other: Measure) -> float | None:
    if one.unit != "share" or one.hits is None or other.hits is None or not one.n or not other.n:
        return None
    test = fisher if max(one.n, other.n) <= _EXACT else two_proportions
    return test(one.hits, one.n, other.hits, other.n)


def _is_far(one: Measure, other: Measure) -> bool:
    if one.value is None or other.value is None:
        return one.value != other.value
    if one.unit == "count":
        return (one.value / (one.n or 1) > 0) != (other.value / (other.n or 1) > 0)
    return abs(other.value - one.value) > _MUCH * max(abs(one.value), abs(other.value))
