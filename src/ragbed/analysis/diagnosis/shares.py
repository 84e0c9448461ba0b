"""The share of wrong trials that have a property, e.g. an error type."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from ragbed.analysis.statistics.rates import LEVEL, UNDEFINED, Interval, clustered_wilson
from ragbed.testbeds.names import CaseName


class Cluster(NamedTuple):
    """A group of dependent trials: those about the same event or, if there is no event, the same item."""

    data: str
    item: str
    event: str | None


def cluster_of(case: CaseName, event: str | None) -> Cluster:
    """Return the cluster of a trial."""
    return Cluster(case.data, case.item if event is None else "", event)


def clustered_share(
    trials: Iterable[tuple[Cluster, bool]], *, is_monitored: bool, level: float = LEVEL
) -> tuple[Interval, int]:
    """Return the share (with its confidence interval) and the number of trials that have a property.

    The interval assumes a fixed number of questions, so its bounds are NaN if the run was monitored (`--until`).

    Args:
        trials: The cluster of each wrong trial, and whether the trial has the property.
        is_monitored: Whether the run was monitored.
        level: Confidence level.
    """
    sizes: Counter[Cluster] = Counter()
    hits: Counter[Cluster] = Counter()
    for cluster, has_property in trials:
        sizes[cluster] += 1
        hits[cluster] += has_property
    if not sizes:
        return UNDEFINED, 0
    interval = clustered_wilson([hits[cluster] for cluster in sizes], list(sizes.values()), level)
    return Interval(interval.value, math.nan, math.nan) if is_monitored else interval, hits.total()
