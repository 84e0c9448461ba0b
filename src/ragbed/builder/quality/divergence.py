"""Divergence, entropy and concentration of distributions over names."""

from __future__ import annotations

from collections.abc import Mapping
from math import log2


def divergence(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """Return the Jensen–Shannon divergence of two tables of counts, in bits: 0 if equal, 1 if disjoint."""
    totals = sum(first.values()), sum(second.values())
    result = 0.0
    for name in {**first, **second}:
        p, q = first.get(name, 0) / totals[0], second.get(name, 0) / totals[1]
        middle = (p + q) / 2
        result += sum(share * log2(share / middle) for share in (p, q) if share) / 2
    return result


def entropy(counts: Mapping[str, float]) -> float:
    """Return the entropy of a table of counts, in bits."""
    total = sum(counts.values())
    return -sum(count / total * log2(count / total) for count in counts.values() if count)


def concentration(counts: Mapping[str, float]) -> float:
    """Return the Herfindahl–Hirschman index: the probability that two random draws are the same."""
    total = sum(counts.values())
    return sum((count / total) ** 2 for count in counts.values())
