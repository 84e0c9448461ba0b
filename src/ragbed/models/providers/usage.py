"""Normalise the token usage reported by providers (see `runs/prices.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

_COST_UNITS = 10**12  # cost units per dollar
_MAX_DOLLARS = 1_000_000
# The fields for each count, in the order in which they are tried; dots separate the names of nested objects.
_FIELDS = {
    "in": ("prompt_tokens", "input_tokens"),
    "out": ("completion_tokens", "output_tokens"),
    "reasoning": ("completion_tokens_details.reasoning_tokens", "reasoning_tokens"),
    "cached": (
        "prompt_tokens_details.cached_tokens",
        "prompt_cache_hit_tokens",
        "cache_read_input_tokens",
        "cached_tokens",
    ),
    "written": ("cache_creation_input_tokens",),
}
_COST = ("cost", "cost.total_cost")


def read_usage(usage: object) -> dict[str, int] | None:
    """Return a response's valid counts, and its cost if reported, or None if there are none.

    `in` includes cached and written prompt tokens, which Anthropic counts separately. `out` includes reasoning tokens,
    which Gemini and xAI count only in the total. Counts of 0 that only some providers report are left out.
    """
    if not isinstance(usage, Mapping):
        return None
    found = {name: _first_count(usage, paths) for name, paths in _FIELDS.items()}
    counts = {name: count for name, count in found.items() if count or (count == 0 and name in ("in", "out"))}
    if "in" in counts and _is_count(usage.get("input_tokens")) and not _is_count(usage.get("prompt_tokens")):
        counts["in"] += counts.get("cached", 0) + counts.get("written", 0)
    total = _first_count(usage, ("total_tokens",)) or 0
    if "in" in counts and "out" in counts and total > counts["in"] + counts["out"]:
        counts["reasoning"] = max(counts.get("reasoning", 0), total - counts["in"] - counts["out"])
        counts["out"] = total - counts["in"]
    cost = next((units for path in _COST if (units := _read_cost(_look_up(usage, path))) is not None), None)
    return counts | ({} if cost is None else {"cost": cost}) or None


def _first_count(usage: Mapping[str, Any], paths: tuple[str, ...]) -> int | None:
    return next((value for path in paths if _is_count(value := _look_up(usage, path))), None)


def _look_up(value: Any, path: str) -> Any:  # noqa: ANN401 - any JSON
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _is_count(value: object) -> bool:
    """Return whether a value is a count; booleans are excluded, although they are ints in Python."""
    return type(value) is int and 0 <= value < 1 << 40


def _read_cost(value: object) -> int | None:
    """Convert a cost in dollars to units, exactly: the shortest decimal form of a float is what the server sent."""
    if type(value) not in (int, float) or not 0 <= value <= _MAX_DOLLARS:  # type: ignore[operator]
        return None
    return round(Decimal(repr(value)) * _COST_UNITS)
