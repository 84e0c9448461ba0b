"""The condition of a trial: model, dataset, testbed and document mix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from ragbed.schema import Case


class Condition(Struct, frozen=True):
    """The fields by which trials are grouped in tables, judgements and the viewer; subclasses add counts."""

    model: str
    data: str
    lang: str
    testbed: str
    noise: float | None
    correct: float
    k: int
    arm: str
    profile: str


def condition_of(model: str, case: Case) -> Condition:
    """Return the condition for a model's trials on a case."""
    mix = (case.noise, case.true_ratio, case.k, case.arm, case.profile)
    return Condition(model, case.data, case.lang, case.testbed, *mix)


class ClusterSizes:
    """Counts the planned trials for each question or event under each condition."""

    def __init__(self) -> None:
        self._sizes: Counter[int] = Counter()

    def add(self, case: Case) -> None:
        """Add a planned case."""
        if case.feasible:
            cluster = ("", case.event) if case.event is not None else (case.item, None)
            self._sizes[hash((condition_of("", case), cluster))] += 1

    def largest(self, repeats: int) -> int:
        """Return the largest number of trials for one question or event under one condition."""
        return repeats * max(self._sizes.values(), default=0)


def largest_cluster(cases: Iterable[Case], repeats: int) -> int:
    """Return the largest number of planned trials for one question or event under one condition."""
    sizes = ClusterSizes()
    for case in cases:
        sizes.add(case)
    return sizes.largest(repeats)
