"""Normalise the token usage reported by providers (see `runs/prices.py`)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, TypeAlias

_COST_UNITS = 10**12  # cost units per dollar
_MAX_DOLLARS = 1_000_000
_Path: TypeAlias = tuple[str, str | None]  # field name, and the name of the inner field if the count is nested
# The fields that may contain each count, in the order in which they are tried.
_FIELDS: dict[str, tuple[_Path, ...]] = {
    "in": (("prompt_tokens", None), ("input_tokens", None)),
    "out": (("completion_tokens", None), ("output_tokens", None)),
    "reasoning": (
        ("completion_tokens_details", "reasoning_tokens"),
        ("completion_tokens_details", "thinking_tokens"),
        ("output_tokens_details", "thinking_tokens"),
        ("output_tokens_details", "reasoning_tokens"),
        ("reasoning_tokens", None),
    ),
    "cached": (
        ("prompt_tokens_details", "cached_tokens"),
        ("input_tokens_details", "cached_tokens"),
        ("prompt_cache_hit_tokens", None),
        ("cache_read_input_tokens", None),
        ("cached_tokens", None),
    ),
    "written": (("cache_creation_input_tokens", None), ("prompt_tokens_details", "cache_write_tokens")),
    "written_1h": (("cache_creation", "ephemeral_1h_input_tokens"),),
}


def read_usage(usage: object) -> dict[str, int] | None:
    """Return a response's valid token counts and its cost, if reported, or None if there are no valid counts.

    `in` includes prompt tokens read from or written to the cache, which Anthropic counts separately. `out` includes
    reasoning tokens, which Gemini and xAI include only in the total. Counts that only some providers report are omitted
    if they are 0, and so is the cost of a call with the user's own key (`is_byok`), which OpenRouter reports without
    the price of the call.
    """
    if not isinstance(usage, dict):
        return None
    counts: dict[str, int] = {}
    for name, paths in _FIELDS.items():
        count = _first_count(usage, paths)
        if count or (count == 0 and name in ("in", "out")):
            counts[name] = count
    has_details = isinstance(usage.get("input_tokens_details"), dict)  # then cached tokens are part of the input
    if "in" in counts and _read_count(usage.get("prompt_tokens")) is None and not has_details:
        counts["in"] += counts.get("cached", 0) + counts.get("written", 0)
    total = _read_count(usage.get("total_tokens"))
    if "in" in counts and "out" in counts and total is not None and total > counts["in"] + counts["out"]:
        counts["reasoning"] = max(counts.get("reasoning", 0), total - counts["in"] - counts["out"])
        counts["out"] = total - counts["in"]
    if usage.get("is_byok") is not True and (cost := _read_cost(usage.get("cost"))) is not None:
        counts["cost"] = cost
    return counts or None


def _first_count(usage: dict[str, Any], paths: tuple[_Path, ...]) -> int | None:
    """Return the first valid count among the given fields, or None if there is none."""
    for name, inner in paths:
        value = usage.get(name)
        if value is not None:
            if inner is not None:
                value = value.get(inner) if isinstance(value, dict) else None
            if (count := _read_count(value)) is not None:
                return count
    return None


def _read_count(value: object) -> int | None:
    """Return a count, or None if the value is not a count; booleans are ints in Python."""
    return value if type(value) is int and 0 <= value < 1 << 40 else None


def _read_cost(value: object) -> int | None:
    """Convert a cost in dollars to integer units, using the exact decimal number that the server sent."""
    if isinstance(value, dict):
        value = value.get("total_cost")
    if type(value) not in (int, float) or not 0 <= value <= _MAX_DOLLARS:  # type: ignore[operator]
        return None
    return round(Decimal(repr(value)) * _COST_UNITS)
