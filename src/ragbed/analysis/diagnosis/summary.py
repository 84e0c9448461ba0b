"""What a run's diagnoses add up to: how often each type is found, and where wrong answers come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragbed.analysis.diagnosis.records import NAMES, Diagnosis
from ragbed.analysis.statistics.rates import Interval, clustered_wilson
from ragbed.testbeds.names import parse_case

UNCLASSIFIED = "unclassified"
NO_ANSWER = "no answer"
SOURCES = ("supports", "distracts", "contradicts", "parametric", "none", NO_ANSWER)

PAPER_SHARES = {"E4": 28, "E5": 28, "E6": 6, "E7": 38}
"""Per cent of ChatGLM2-6B's errors of integration without noise, as the paper counts them by hand."""


class Group(NamedTuple):
    """What is added up together."""

    model: str
    testbed: str
    lang: str


@dataclass(frozen=True)
class TypeShare:
    """How many of a group's wrong trials are of a kind, with an interval by question."""

    name: str
    count: int
    n: int
    share: Interval

    def as_json(self) -> dict[str, object]:
        """As plain values."""
        value, low, high = (round(one, 6) for one in self.share)
        return {"name": self.name, "count": self.count, "n": self.n, "value": value, "low": low, "high": high}


@dataclass(frozen=True)
class GroupSummary:
    """One model on one testbed in one language."""

    group: Group
    wrong: int
    """On the robust track: what shares of types are shares of."""
    paper_only: int
    """Wrong only as the paper scores."""
    types: tuple[TypeShare, ...]
    """Of the wrong trials; they add up to more than all, since an error can be of several types."""
    sources: tuple[TypeShare, ...]
    """Of the wrong trials; every one has one source."""
    paper_types: tuple[tuple[str, int], ...]
    """E8 and E11 among those that only the paper's scoring calls wrong."""

    def as_json(self) -> dict[str, object]:
        """As plain values."""
        return self.group._asdict() | {
            "wrong": self.wrong,
            "paper_only": self.paper_only,
            "types": [share.as_json() for share in self.types],
            "sources": [share.as_json() for share in self.sources],
            "paper_types": dict(self.paper_types),
        }


def summarise(diagnoses: Iterable[Diagnosis]) -> list[GroupSummary]:
    """One summary a model, testbed and language."""
    groups: dict[Group, list[Diagnosis]] = {}
    for one in diagnoses:
        groups.setdefault(Group(one.model, parse_case(one.case).testbed, one.lang), []).append(one)
    return [_summarise(group, found) for group, found in sorted(groups.items())]


def _summarise(group: Group, found: Sequence[Diagnosis]) -> GroupSummary:
    wrong = [one for one in found if one.wrong]
    only = [one for one in found if not one.wrong]
    kinds = Counter(name for one in wrong for name in one.types)
    types = [_share(wrong, name, [name in one.types for one in wrong]) for name in NAMES if kinds[name]]
    types.append(_share(wrong, UNCLASSIFIED, [not one.types for one in wrong]))
    origins = [one.source or NO_ANSWER for one in wrong]
    sources = [_share(wrong, name, [one == name for one in origins]) for name in SOURCES]
    told = Counter(name for one in only for name in one.types)
    return GroupSummary(
        group,
        len(wrong),
        len(only),
        tuple(one for one in types if one is not None),
        tuple(one for one in sources if one is not None and one.count),
        tuple(sorted(told.items())),
    )


def _share(found: Sequence[Diagnosis], name: str, holds: Sequence[bool]) -> TypeShare | None:
    """The share of diagnoses for which something holds; None where there are none at all."""
    if not found:
        return None
    hits: Counter[tuple[str, str]] = Counter()
    asked: Counter[tuple[str, str]] = Counter()
    for one, hit in zip(found, holds, strict=True):
        item = parse_case(one.case)[:2]
        asked[item] += 1
        hits[item] += hit
    interval = clustered_wilson([hits[item] for item in asked], list(asked.values()))
    return TypeShare(name, sum(hits.values()), len(found), interval)
