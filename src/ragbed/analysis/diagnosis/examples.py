"""List a run's error types with one example each, as in Tables 2, 4 and 6 of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragbed.analysis.diagnosis.diagnosis_file import RunDiagnosis
from ragbed.analysis.diagnosis.summary import UNCLASSIFIED, ErrorShare, type_shares
from ragbed.runs.store import StoredResult, open_store

# For each testbed, the number of the paper's table that shows its errors.
PAPER_TABLES = {"noise": 2, "rejection": 4, "integration": 6}


class ErrorRow(NamedTuple):
    """An error type found for one model on one dataset, and the first response with this error.

    `why` is the evidence by language.
    """

    table: int
    model: str
    data: str
    testbed: str
    type: ErrorShare
    question: str
    answer: str
    reply: str
    why: dict[str, str]


def read_error_rows(diagnoses: Sequence[RunDiagnosis]) -> list[ErrorRow]:
    """Return the error types by table, model and dataset, for the testbeds whose errors are in the paper's tables."""
    groups: dict[tuple[int, str, str, str], list[RunDiagnosis]] = {}
    for one in diagnoses:
        if (testbed := one.case.testbed) in PAPER_TABLES:
            key = (PAPER_TABLES[testbed], one.label, one.case.data, testbed)
            groups.setdefault(key, []).append(one)
    return [row for key, found in sorted(groups.items()) for row in _rows(key, found)]


def _rows(key: tuple[int, str, str, str], found: Sequence[RunDiagnosis]) -> Iterator[ErrorRow]:
    is_monitored = any(one.is_monitored for one in found)
    for share in type_shares([one.diagnosis for one in found], is_monitored=is_monitored):
        example = next((one for one in found if share.name in (one.diagnosis.types or (UNCLASSIFIED,))), None)
        stored = None if example is None else _read(example)
        if example is not None and stored is not None:
            answer = "; ".join(aliases[0] for aliases in stored.case.answer)
            evidence = next((piece for piece in example.diagnosis.evidence if piece.type == share.name), None)
            why = {"en": "", "zh": ""} if evidence is None else {"en": evidence.what, "zh": evidence.what_zh}
            yield ErrorRow(*key, share, stored.case.question, answer, stored.completion.reply or "", why)


def _read(example: RunDiagnosis) -> StoredResult | None:
    diagnosis = example.diagnosis
    with open_store(example.run, create=False) as store:
        for stored in store.results_of(diagnosis.case, 1_000):
            if (stored.model, stored.repeat) == (diagnosis.model, diagnosis.repeat):
                return stored
    return None
