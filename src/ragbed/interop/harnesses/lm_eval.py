"""Functions that the task files for lm-evaluation-harness reference by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragbed import __version__
from ragbed.interop.exports.frozen import condition_of, find_part, read_part
from ragbed.interop.exports.harness_tasks import EXPECTED, METRICS, numbers, pack, score_packed
from ragbed.schema import Case
from ragbed.scoring.version import SCORER_VERSION
from ragbed.testbeds.prompts import REFUSAL, prompt_hash


def load_frozen(folder: Path, part: str, condition: str) -> dict[str, Any]:
    """Return the lm-eval samples for one condition of an exported testbed part."""
    testbed = find_part(folder, part)
    from datasets import Dataset  # noqa: PLC0415 - a dependency of lm-eval

    cases = (case for case in read_part(folder, testbed) if condition_of(case, testbed) == condition)
    return {"test": Dataset.from_list([_document(case) for case in cases])}


def process_results(doc: dict[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Return the scores of one response, for lm-eval to average."""
    scores = numbers(score_packed(doc["record"], results[0]))
    return {name: scores[name] for name in (*METRICS, *EXPECTED) if name in scores}


def _document(case: Case) -> dict[str, object]:
    texts = {message.role: message.content for message in case.messages}
    return {
        "case": case.case,
        "lang": case.lang,
        "testbed": case.testbed,
        "system": texts.get("system", ""),
        "user": texts["user"],
        "target": REFUSAL[case.lang] if case.expect == "refuse" else "; ".join(one[0] for one in case.answer),
        "prompt": prompt_hash(case.messages),
        "record": pack(case),
        "ragbed": __version__,
        "scorers": SCORER_VERSION,
    }
