"""Summarise diagnoses: the shares of error types and the sources of wrong answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from ragbed.analysis.diagnosis.records import NAMES, Diagnosis
from ragbed.analysis.diagnosis.shares import cluster_of, clustered_share
from ragbed.analysis.statistics.rates import Interval
from ragbed.testbeds.names import parse_case

UNCLASSIFIED = "unclassified"
NO_ANSWER = "no answer"
SOURCES = ("supports", "distracts", "contradicts", "parametric", "none", NO_ANSWER)

# Percentage of each error type among ChatGLM2-6B's integration errors without noise, as counted by hand in the paper.
PAPER_SHARES = {"E4": 28, "E5": 28, "E6": 6, "E7": 38}


class Group(NamedTuple):
    """One model's results on one testbed in one language."""

    model: str
    testbed: str
    lang: str


@dataclass(frozen=True)
class TypeShare:
    """The share of a group's wrong trials that have a property, with its confidence interval.

    Trials are clustered by question or event. The interval assumes a fixed number of questions, so it is undefined if
    the run was monitored (`--until`).
    """

    name: str
    count: int
    n: int
    share: Interval

    def as_json(self) -> dict[str, object]:
        """Return the share as a JSON-compatible dictionary."""
        value, low, high = self.bounds()
        return {"name": self.name, "count": self.count, "n": self.n, "value": value, "low": low, "high": high}

    def bounds(self) -> tuple[float | None, float | None, float | None]:
        """Return the share and its bounds, with None for undefined values."""
        value, low, high = (round(float(number), 6) if math.isfinite(number) else None for number in self.share)
        return value, low, high


@dataclass(frozen=True)
class GroupSummary:
    """The summary of a group of diagnoses.

    Shares refer to the trials that are `wrong` on the robust track. An error can have several types, but only one
    source. `paper_types` counts E8 and E11 among the `paper_only` trials, which only the paper's scoring counts as
    wrong.
    """

    group: Group
    wrong: int
    paper_only: int
    types: tuple[TypeShare, ...]
    sources: tuple[TypeShare, ...]
    paper_types: tuple[tuple[str, int], ...]

    def as_json(self) -> dict[str, object]:
        """Return the summary as a JSON-compatible dictionary."""
        return self.group._asdict() | {
            "wrong": self.wrong,
            "paper_only": self.paper_only,
            "types": [share.as_json() for share in self.types],
            "sources": [share.as_json() for share in self.sources],
            "paper_types": dict(self.paper_types),
        }


def summarise(diagnoses: Iterable[Diagnosis], *, is_monitored: bool = False) -> list[GroupSummary]:
    """Return one summary per model, testbed and language."""
    groups: dict[Group, list[Diagnosis]] = {}
    for diagnosis in diagnoses:
        groups.setdefault(Group(diagnosis.model, parse_case(diagnosis.case).testbed, diagnosis.lang), []).append(
            diagnosis
        )
    return [_summarise(group, found, is_monitored) for group, found in sorted(groups.items())]


def _summarise(group: Group, found: Sequence[Diagnosis], is_monitored: bool) -> GroupSummary:
    wrong = [diagnosis for diagnosis in found if diagnosis.wrong]
    only = [diagnosis for diagnosis in found if not diagnosis.wrong]
    share = partial(_share, wrong, is_monitored)
    types = [share(name, [name in diagnosis.types for diagnosis in wrong]) for name in NAMES]
    sources = [share(name, [(diagnosis.source or NO_ANSWER) == name for diagnosis in wrong]) for name in SOURCES]
    unclassified = share(UNCLASSIFIED, [not diagnosis.types for diagnosis in wrong])
    return GroupSummary(
        group,
        len(wrong),
        len(only),
        (*(one for one in types if one.count), unclassified) if wrong else (),
        tuple(one for one in sources if one.count),
        tuple(sorted(Counter(name for diagnosis in only for name in diagnosis.types).items())),
    )


def _share(found: Sequence[Diagnosis], is_monitored: bool, name: str, holds: Sequence[bool]) -> TypeShare:
    clusters = (cluster_of(parse_case(diagnosis.case), diagnosis.event) for diagnosis in found)
    interval, hits = clustered_share(zip(clusters, holds, strict=True), is_monitored=is_monitored)
    return TypeShare(name, hits, len(found), interval)
