"""How far two distributions over names are from each other."""

from __future__ import annotations

from collections.abc import Mapping
from math import log2


def divergence(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """The Jensen–Shannon divergence of two tables of counts, in bits: 0 if alike, 1 if they have nothing in common."""
    totals = sum(one.values()), sum(other.values())
    result = 0.0
    for name in {**one, **other}:
        p, q = one.get(name, 0) / totals[0], other.get(name, 0) / totals[1]
        middle = (p + q) / 2
        result += sum(share * log2(share / middle) for share in (p, q) if share) / 2
    return result


def entropy(counts: Mapping[str, float]) -> float:
    """Of a table of counts, in bits: log₂ of how many equally frequent names would be as varied."""
    total = sum(counts.values())
    return -sum(count / total * log2(count / total) for count in counts.values() if count)


def concentration(counts: Mapping[str, float]) -> float:
    """The Herfindahl–Hirschman index: the chance that two drawn at random are the same."""
    total = sum(counts.values())
    return sum((count / total) ** 2 for count in counts.values())
