"""Store the intervals that decided the conditions of a monitored run (`--until`).

More responses may arrive after a decision, e.g. those in flight, and they may widen the interval again. Reports show
the intersection of both intervals, which is valid: a confidence sequence guarantees that all its intervals together
contain the true value with the stated probability. If the value has left the interval of the decision, reports show
its current interval, and gates name the decision separately.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from typing import TypeAlias

import msgspec
from msgspec.structs import asdict, replace

from ragbed.runs.condition import Condition
from ragbed.runs.store import RunStore

COMPARISON = "compare"  # the table name of a comparison with another run
Place: TypeAlias = dict[str, str | float | None]
_PREFIX = "decided."
# The scores whose rates are metrics of a report.
_SCORE_OF = {"accuracy": "correct", "refusal_recall": "refused", "refusal": "refused", "error_detection": "flagged"}
_KEEP = "INSERT OR IGNORE INTO meta VALUES (?, ?)"  # a condition is decided only once


class DecidedInterval(msgspec.Struct, frozen=True, omit_defaults=True):
    """The interval of a cell or a comparison at the time of a decision.

    Attributes:
        table: The cell's table, or `compare`.
        place: The values that identify the cell or the comparison within the table.
        alpha: The error probability of the interval.
        model: The model string.
        base: For a comparison, a hash of the baseline's scores.
    """

    table: str
    metric: str
    place: Place
    low: float
    high: float
    alpha: float
    model: str = ""
    base: str = ""


def keep_decided(store: RunStore, decided: Iterable[DecidedInterval]) -> None:
    """Store the intervals for conditions that had not been decided before."""
    with store.transaction():
        copy_decided(store, decided)


def copy_decided(store: RunStore, decided: Iterable[DecidedInterval]) -> None:
    """Store the intervals in the current transaction."""
    for interval in decided:
        unit = msgspec.json.encode(replace(interval, low=0.0, high=0.0), order="sorted")
        key = f"{_PREFIX}{hashlib.blake2b(unit, digest_size=8).hexdigest()}"
        store.connection.execute(_KEEP, (key, msgspec.json.encode(interval).decode()))


def read_decided(store: RunStore) -> list[DecidedInterval]:
    """Return the intervals that decided the run's conditions.

    Raises:
        DataError: A stored interval is damaged.
    """
    found = []
    for key, text in store.read("SELECT key, value FROM meta WHERE key GLOB ? ORDER BY key", (f"{_PREFIX}*",)):
        try:
            found.append(msgspec.json.decode(str(text), type=DecidedInterval))
        except msgspec.MsgspecError:
            raise store.damaged(f"the decision {str(key)[:40]}") from None
    return found


def narrow(
    interval: tuple[float, float, float], decided: Iterable[DecidedInterval], alpha: float
) -> tuple[float, float]:
    """Return the bounds of the intersection of an interval with those of earlier decisions.

    Args:
        interval: The current value and its bounds.
        decided: The intervals of decisions about the same value. Those with a larger error probability than `alpha`
            are ignored.
        alpha: The error probability of the interval.

    Returns:
        The bounds of the intersection. If it is empty or does not contain the value, the given bounds.
    """
    value, low, high = interval
    used = [one for one in decided if one.alpha <= alpha]
    lowest, highest = max([low, *(one.low for one in used)]), min([high, *(one.high for one in used)])
    return (lowest, highest) if lowest <= value <= highest else (low, high)


def decided_by_score(
    conditions: Collection[Condition], decided: Iterable[DecidedInterval]
) -> dict[tuple[Condition, str], list[DecidedInterval]]:
    """Return the decisions about the rates of each condition, by condition and score.

    A decision about a rate over several conditions says nothing about one of them, and is omitted.
    """
    found: dict[tuple[Condition, str], list[DecidedInterval]] = {}
    for one in decided:
        place = {"testbed": one.table, "model": one.model, "arm": "related", **one.place}
        matching = [condition for condition in conditions if place.items() <= asdict(condition).items()]
        if one.metric in _SCORE_OF and len(matching) == 1:
            found.setdefault((matching[0], _SCORE_OF[one.metric]), []).append(one)
    return found
