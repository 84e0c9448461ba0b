"""Functions that the task files for lm-evaluation-harness reference by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ragbed import __version__
from ragbed.interop.exports.frozen import TestbedPart, condition_of, find_part, read_part
from ragbed.interop.exports.harness_tasks import METRICS
from ragbed.interop.exports.records_base import reference_of
from ragbed.interop.harnesses.scoring import numbers, pack, score_packed
from ragbed.interop.harnesses.shipped import make_shipped_cases
from ragbed.schema import Case
from ragbed.scoring.version import SCORER_VERSION
from ragbed.testbeds.prompts import prompt_hash


def load_frozen(folder: Path, part: str, condition: str) -> dict[str, Any]:
    """Return the lm-eval samples for one condition of an exported testbed part."""
    testbed = find_part(folder, part)
    return _documents(read_part(folder, testbed), testbed, condition)


def load_shipped(part: str, condition: str = "", **_: object) -> dict[str, Any]:
    """Return the lm-eval samples for one condition of a built-in testbed; other arguments are lm-eval's metadata."""
    testbed, cases = make_shipped_cases(part)
    return _documents(cases, testbed, condition)


def process_results(doc: dict[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Return the scores of one response, for lm-eval to average."""
    scores = numbers(score_packed(doc["record"], results[0]))
    return {name: scores[name] for name in METRICS if name in scores}


def _documents(cases: Iterable[Case], part: TestbedPart, condition: str) -> dict[str, Any]:
    from datasets import Dataset  # noqa: PLC0415 - a dependency of lm-eval

    rows = [_document(case) for case in cases if condition_of(case, part) == condition]
    return {"test": Dataset.from_list(rows)}


def _document(case: Case) -> dict[str, object]:
    texts = {message.role: message.content for message in case.messages}
    return {
        "case": case.case,
        "lang": case.lang,
        "testbed": case.testbed,
        "system": texts.get("system", ""),
        "user": texts["user"],
        "target": reference_of(case),
        "prompt": prompt_hash(case.messages),
        "record": pack(case),
        "ragbed": __version__,
        "scorers": SCORER_VERSION,
    }
