"""Normalise the token usage reported by providers (see `runs/prices.py`)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

_COST_UNITS = 10**12  # cost units per dollar
_MAX_DOLLARS = 1_000_000
# The fields for each count, in the order in which they are tried, with the object that contains them, if any.
_FIELDS: dict[str, tuple[tuple[str | None, str], ...]] = {
    "in": ((None, "prompt_tokens"), (None, "input_tokens")),
    "out": ((None, "completion_tokens"), (None, "output_tokens")),
    "reasoning": (("completion_tokens_details", "reasoning_tokens"), (None, "reasoning_tokens")),
    "cached": (
        ("prompt_tokens_details", "cached_tokens"),
        (None, "prompt_cache_hit_tokens"),
        (None, "cache_read_input_tokens"),
        (None, "cached_tokens"),
    ),
    "written": ((None, "cache_creation_input_tokens"),),
    "written_1h": (("cache_creation", "ephemeral_1h_input_tokens"),),
}


def read_usage(usage: object) -> dict[str, int] | None:
    """Return a response's valid counts, and its cost if reported, or None if there are none.

    `in` includes cached and written prompt tokens, which Anthropic counts separately. `out` includes reasoning tokens,
    which Gemini and xAI count only in the total. Counts of 0 that only some providers report are left out.
    """
    if not isinstance(usage, dict):
        return None
    counts = {}
    for name, fields in _FIELDS.items():
        count = _first_count(usage, fields)
        if count or (count == 0 and name in ("in", "out")):
            counts[name] = count
    if "in" in counts and _is_count(usage.get("input_tokens")) and not _is_count(usage.get("prompt_tokens")):
        counts["in"] += counts.get("cached", 0) + counts.get("written", 0)
    total = usage["total_tokens"] if _is_count(usage.get("total_tokens")) else 0
    if "in" in counts and "out" in counts and total > counts["in"] + counts["out"]:
        counts["reasoning"] = max(counts.get("reasoning", 0), total - counts["in"] - counts["out"])
        counts["out"] = total - counts["in"]
    cost = usage.get("cost")
    units = _read_cost(cost.get("total_cost") if isinstance(cost, dict) else cost)
    if units is not None:
        counts["cost"] = units
    return counts or None


def _first_count(usage: dict[str, Any], fields: tuple[tuple[str | None, str], ...]) -> int | None:
    for parent, name in fields:
        inner = usage if parent is None else usage.get(parent)
        value = inner.get(name) if isinstance(inner, dict) else None
        if type(value) is int and _is_count(value):
            return value
    return None


def _is_count(value: object) -> bool:
    """Return whether a value is a count; booleans are excluded, although they are ints in Python."""
    return type(value) is int and 0 <= value < 1 << 40


def _read_cost(value: object) -> int | None:
    """Convert a cost in dollars to units, exactly: the shortest decimal form of a float is what the server sent."""
    if type(value) not in (int, float) or not 0 <= value <= _MAX_DOLLARS:  # type: ignore[operator]
        return None
    return round(Decimal(repr(value)) * _COST_UNITS)
