"""Summarise diagnoses: the shares of error types and the sources of wrong answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ragbed.analysis.diagnosis.records import NAMES, Diagnosis
from ragbed.analysis.statistics.rates import Interval, clustered_wilson
from ragbed.testbeds.names import parse_case

UNCLASSIFIED = "unclassified"  # stands for no error type; its share is always shown, also if it is 0
NO_ANSWER = "no answer"
SOURCES = ("supports", "distracts", "contradicts", "parametric", "none", NO_ANSWER)

# Percentage of each error type among ChatGLM2-6B's integration errors without noise, as counted by hand in the paper.
PAPER_SHARES = {"E4": 28, "E5": 28, "E6": 6, "E7": 38}


class Group(NamedTuple):
    """One model's wrong answers on one testbed in one language."""

    model: str
    testbed: str
    lang: str


class ErrorShare(NamedTuple):
    """The share of `n` wrong answers that have an error type or a source, with its confidence interval."""

    name: str
    errors: int
    n: int
    share: Interval

    def bounds(self) -> tuple[float | None, float | None, float | None]:
        """Return the share and its bounds, with None for undefined values."""
        value, low, high = (round(float(number), 6) if math.isfinite(number) else None for number in self.share)
        return value, low, high


def by_group(diagnoses: Iterable[Diagnosis]) -> dict[Group, list[Diagnosis]]:
    """Return the diagnoses by model, testbed and language."""
    groups: dict[Group, list[Diagnosis]] = {}
    for one in diagnoses:
        groups.setdefault(Group(one.model, parse_case(one.case).testbed, one.lang), []).append(one)
    return dict(sorted(groups.items()))


def type_shares(diagnoses: Sequence[Diagnosis], *, is_monitored: bool) -> list[ErrorShare]:
    """Return the shares of all error types and of unclassified errors; an error can have several types."""
    labels = [one.types or (UNCLASSIFIED,) for one in diagnoses]
    return list(_shares(diagnoses, labels, (*NAMES, UNCLASSIFIED), is_monitored))


def source_shares(diagnoses: Sequence[Diagnosis], *, is_monitored: bool) -> list[ErrorShare]:
    """Return the shares of all sources; an error has one source."""
    return list(_shares(diagnoses, [(one.source or NO_ANSWER,) for one in diagnoses], SOURCES, is_monitored))


def _shares(
    diagnoses: Sequence[Diagnosis], labels: Sequence[Sequence[str]], names: Iterable[str], is_monitored: bool
) -> Iterator[ErrorShare]:
    """Yield the share of each name, or nothing if there are no errors.

    Errors on the same question or event are one cluster. The interval assumes a fixed number of questions, so its
    bounds are NaN if the run was monitored (`--until`).
    """
    clusters = [_cluster_of(one) for one in diagnoses]
    sizes = Counter(clusters)
    for name in names if diagnoses else ():
        hits = Counter(cluster for cluster, given in zip(clusters, labels, strict=True) if name in given)
        share = clustered_wilson([hits[cluster] for cluster in sizes], list(sizes.values()))
        share = Interval(share.value, math.nan, math.nan) if is_monitored else share
        yield ErrorShare(name, hits.total(), len(diagnoses), share)


def _cluster_of(diagnosis: Diagnosis) -> tuple[str, str, bool]:
    case = parse_case(diagnosis.case)
    return case.data, case.item if diagnosis.event is None else diagnosis.event, diagnosis.event is None
