"""Add rerun results to diagnoses: the error types they confirm and the documents that a wrong answer depends on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ragbed.analysis.diagnosis.classify import DiagnosisCounts
from ragbed.analysis.diagnosis.records import Diagnosis
from ragbed.analysis.diagnosis.reruns import confirm, folder_of, hang, read_replies
from ragbed.analysis.diagnosis.summary import summarise
from ragbed.runs.database import NAME
from ragbed.runs.store import StoredResult
from ragbed.schema import Case
from ragbed.testbeds.names import parse_case

_KINDS: dict[str, Callable[[Diagnosis, Case, Mapping[str, StoredResult]], Diagnosis]] = {
    "intervene": confirm,
    "knock-out": hang,
}


def add_reruns(run: Path, diagnoses: Sequence[Diagnosis], cases: Mapping[str, Case]) -> list[Diagnosis]:
    """Return the diagnoses with the results of all reruns, from this session and earlier ones."""
    found = list(diagnoses)
    for kind, add in _KINDS.items():
        folders = {model: folder_of(run, kind, model) for model in {diagnosis.model for diagnosis in found}}
        replies = {model: read_replies(folder) for model, folder in folders.items() if (folder / NAME).is_file()}
        found = [
            add(diagnosis, cases[diagnosis.case], replies[diagnosis.model]) if diagnosis.model in replies else diagnosis
            for diagnosis in found
        ]
    return found


def count_confirmed(diagnoses: Sequence[Diagnosis]) -> dict[tuple[str, ...], tuple[int, int]]:
    """Return the numbers of confirmed and tested errors by model, testbed, language and error type."""
    confirmed: Counter[tuple[str, ...]] = Counter()
    tested: Counter[tuple[str, ...]] = Counter()
    for diagnosis in diagnoses:
        for name in diagnosis.types:
            results = [
                item.confirmed for item in diagnosis.evidence if item.type == name and item.confirmed is not None
            ]
            if results:
                key = (diagnosis.model, parse_case(diagnosis.case).testbed, diagnosis.lang, name)
                tested[key] += 1
                confirmed[key] += any(results)
    return {key: (confirmed[key], tested[key]) for key in tested}


def count_dependence(diagnoses: Sequence[Diagnosis]) -> dict[str, int]:
    """Return how many of the tested wrong answers depend on one document, on several, or on none."""
    tested = [diagnosis.hangs_on for diagnosis in diagnoses if diagnosis.hangs_on is not None]
    return {
        "tried": len(tested),
        "one": sum(len(documents) == 1 for documents in tested),
        "several": sum(len(documents) > 1 for documents in tested),
        "none": sum(not documents for documents in tested),
    }


def summary_values(
    counts: DiagnosisCounts, diagnoses: Sequence[Diagnosis], *, is_monitored: bool = False
) -> dict[str, Any]:
    """Return a summary of the diagnoses as a JSON-compatible dictionary."""
    confirmed = [
        {"model": model, "testbed": testbed, "lang": lang, "type": name, "confirmed": yes, "asked": tested}
        for (model, testbed, lang, name), (yes, tested) in count_confirmed(diagnoses).items()
    ]
    return {
        "trials": asdict(counts),
        "groups": [group.as_json() for group in summarise(diagnoses, is_monitored=is_monitored)],
        "confirmations": confirmed,
        "hang_on": count_dependence(diagnoses),
    }
