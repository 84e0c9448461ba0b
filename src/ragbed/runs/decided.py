"""Store the outcomes of a monitored run's stopping conditions (`--until`), with their confidence intervals.

More responses may arrive after a decision, e.g. those in flight, and they may widen the interval again. Reports show
the current interval, and list the decision beside the last interval. Gates keep to the decision.

A decision made with another version of the scorer is listed, but gates do not use it. The next session of the run
replaces it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from ragbed.runs.store import NOTE, RunStore

Place: TypeAlias = dict[str, str | float | None]
_PREFIX = "decided."
DecisionState: TypeAlias = Literal["decided", "inconclusive"]
# The reason for a stopping condition's outcome: the confidence interval is narrow enough, or a rate is (or is not)
# below its minimum. The reason is empty in runs from earlier versions.
Conclusion: TypeAlias = Literal["", "narrow", "below", "not-below"]


class LastInterval(msgspec.Struct, frozen=True):
    """The value that a stopping condition refers to, with its confidence interval, at the end of a session."""

    value: float
    low: float
    high: float
    questions: int


class DecidedInterval(msgspec.Struct, frozen=True, omit_defaults=True):
    """The confidence interval that decided a stopping condition, or the latest interval if the outcome is inconclusive.

    Attributes:
        table: The cell's table.
        place: The values that identify the cell within the table.
        alpha: The error probability of the interval.
        model: The model string.
        condition: The condition or gate, as the user wrote it; empty in runs from earlier versions.
        questions: Number of questions at the time of the decision.
        last: The interval at the end of the last session.
        scorer: Version of the scorer whose scores both intervals use.
    """

    table: str
    metric: str
    place: Place
    low: float
    high: float
    alpha: float
    model: str = ""
    condition: str = ""
    state: DecisionState = "decided"
    conclusion: Conclusion = ""
    questions: int = 0
    last: LastInterval | None = None
    scorer: int = 0


def keep_decided(store: RunStore, decided: Iterable[DecidedInterval]) -> None:
    """Store the outcomes of a run's stopping conditions as part of the open transaction.

    A condition is decided only once by each version of the scorer, but its last interval changes.
    """
    for outcome in decided:
        # Document counts are read back as floats, so convert integers to floats to get the same key.
        place = {name: float(value) if isinstance(value, int) else value for name, value in outcome.place.items()}
        unit = (outcome.condition, outcome.model, outcome.table, outcome.metric, place, outcome.alpha)
        key = f"{_PREFIX}{hashlib.blake2b(msgspec.json.encode(unit, order='sorted'), digest_size=8).hexdigest()}"
        before = store.notes(key, DecidedInterval, f"the decision {key}").get("")
        kept = outcome
        if before is not None and (before.state, before.scorer) == ("decided", outcome.scorer):
            kept = replace(before, last=outcome.last)
        store.connection.execute(NOTE, (key, msgspec.json.encode(kept).decode()))


def read_decided(store: RunStore) -> list[DecidedInterval]:
    """Return the confidence intervals that decided stopping conditions under the current scorer version.

    Raises:
        DataError: A stored interval is damaged.
    """
    decided = [one for one in read_conditions(store) if one.state == "decided"]
    if not decided:
        return []
    from ragbed.scoring.version import SCORER_VERSION  # noqa: PLC0415 - it loads the scorers, which most runs do not need

    return [one for one in decided if one.scorer == SCORER_VERSION]


def read_conditions(store: RunStore) -> list[DecidedInterval]:
    """Return the outcomes of all stopping conditions, including inconclusive ones, after the last session.

    Raises:
        DataError: A stored interval is damaged.
    """
    found = store.notes(_PREFIX, DecidedInterval, f"the decision {_PREFIX}")
    return sorted(found.values(), key=lambda one: (one.model, one.condition, one.table, one.metric, str(one.place)))
