"""List a run's error types with one example each, as in Tables 2, 4 and 6 of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ragbed.analysis.diagnosis.causes import NONE, Cause, type_share
from ragbed.analysis.diagnosis.records import NAMES
from ragbed.analysis.statistics.rates import Interval
from ragbed.runs.store import StoredResult, open_store

# The number of the paper's table that shows each testbed's errors.
PAPER_TABLES = {"noise": 2, "rejection": 4, "integration": 6}


class ErrorRow(NamedTuple):
    """An error type found for one model on one dataset, and the first response with this error.

    `share` is the type's share of all `wrong` answers, with an interval clustered by question or event. `why` is the
    evidence by language.
    """

    table: int
    model: str
    data: str
    testbed: str
    type: str
    share: Interval
    wrong: int
    question: str
    answer: str
    reply: str
    why: dict[str, str]


def read_error_rows(causes: Sequence[Cause]) -> list[ErrorRow]:
    """Return the error types by table, model and dataset, for the testbeds whose errors are in the paper's tables."""
    groups: dict[tuple[int, str, str, str], list[Cause]] = {}
    for cause in causes:
        testbed = cause.case.testbed
        if testbed in PAPER_TABLES:
            key = (PAPER_TABLES[testbed], cause.model, cause.case.data, testbed)
            groups.setdefault(key, []).append(cause)
    return [row for key, found in sorted(groups.items()) for row in _rows(key, found)]


def _rows(key: tuple[int, str, str, str], causes: Sequence[Cause]) -> Iterator[ErrorRow]:
    for name in (*NAMES, NONE):
        example = next((cause for cause in causes if name in (cause.types or (NONE,))), None)
        stored = None if example is None else _read(example)
        if example is not None and stored is not None:
            answer = "; ".join(aliases[0] for aliases in stored.case.answer)
            texts = (stored.case.question, answer, stored.completion.reply or "")
            yield ErrorRow(*key, name, type_share(causes, name), len(causes), *texts, _why(example, name))


def _read(cause: Cause) -> StoredResult | None:
    with open_store(Path(cause.run), create=False) as store:
        for stored in store.results_of(cause.name, 1_000):
            if (stored.model, stored.repeat) == (cause.model, cause.repeat):
                return stored
    return None


def _why(cause: Cause, name: str) -> dict[str, str]:
    """Return the evidence for an error type in both languages."""
    found = next((one for one in cause.evidence if one.get("type") == name), {})
    return {"en": str(found.get("what", "")), "zh": str(found.get("what_zh", ""))}
