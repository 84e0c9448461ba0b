"""Measure how well scores of passages find those that support the answer; tests and benchmarks of encoders share it.

The pool of one question is so small that every encoder returns all of it at 30. So the passages of all questions form
one pool without exact duplicates, and each question must find its own supporting passages there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ragbed.retrieval.base import Matrix, best
from ragbed.schema import Item


@dataclass(frozen=True)
class Sought:
    """A question and the positions of its item's passages in the pool."""

    question: str
    supports: frozenset[int]
    distracts: frozenset[int]


@dataclass(frozen=True)
class RecallPool:
    """All passages of some items, and the passages that each question must find."""

    passages: tuple[str, ...]
    sought: tuple[Sought, ...]


@dataclass(frozen=True)
class Recall:
    """Means over the questions."""

    at_30: float
    """Share of the supporting passages among the first 30; where there are more than 30, out of 30."""
    at_10: float
    first: float
    """1 / rank of the first supporting passage."""
    own: float
    """Among the item's own passages: the share of supporting ones in as many first positions as there are."""


def pool_items(items: Iterable[Item]) -> RecallPool:
    """Pool the true passages of all items; leave out items without a supporting passage."""
    places: dict[str, int] = {}
    sought = []
    for item in items:
        by_stance: dict[str, set[int]] = {"supports": set(), "distracts": set(), "contradicts": set()}
        for passage in item.passages:
            if passage.stance != "contradicts":
                by_stance[passage.stance].add(places.setdefault(passage.text, len(places)))
        supports = frozenset(by_stance["supports"])
        if supports:
            sought.append(Sought(item.question, supports, frozenset(by_stance["distracts"]) - supports))
    return RecallPool(tuple(places), tuple(sought))


def measure_recall(pool: RecallPool, score: Callable[[str], Matrix]) -> Recall:
    """Return the mean recall of a function that scores the whole pool for a question."""
    rows = [_measure_one(sought, best(score(sought.question), len(pool.passages))) for sought in pool.sought]
    return Recall(*[sum(column) / len(rows) for column in zip(*rows, strict=True)])


def _measure_one(sought: Sought, order: list[int]) -> tuple[float, float, float, float]:
    wanted = sought.supports
    first = next(rank for rank, place in enumerate(order, 1) if place in wanted)
    own = [place for place in order if place in wanted or place in sought.distracts]
    return (
        _share_found(wanted, order, 30),
        _share_found(wanted, order, 10),
        1 / first,
        _share_found(wanted, own, len(wanted)),
    )


def _share_found(wanted: frozenset[int], order: list[int], top: int) -> float:
    return len(wanted.intersection(order[:top])) / min(top, len(wanted))
