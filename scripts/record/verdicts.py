"""What the robust scorer says about all labelled responses: a hash per language, and the errors per stratum."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from benches.scorer_rows import Part, read_final_labels, read_rows
from ragbed.schema import Case, Lang
from ragbed.scoring.robust import score
from ragbed.scoring.value import Value
from ragbed.scoring.version import SCORER_VERSION
from tests.scoring.robust.cases import make_case

_FOLDER = Path(__file__).parents[2] / "tests" / "scoring"
_LABELS = ("correct", "refused", "flagged", "misled")
_SAMPLED = 5  # one in so many rows is in the sample that the quick tests check


def record() -> dict[str, Any]:
    """Return the scorer's version, and for each language the hashes and the errors and rows of each stratum."""
    every, sample = ({lang: hashlib.sha256() for lang in get_args(Lang)} for _ in range(2))
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for number, (stratum, case, response, labels) in enumerate(read_rows_of_all_sets()):
        values = score(case, response)
        for hashes in (every,) if number % _SAMPLED else (every, sample):
            hashes[case.lang].update(_encode(response, values))
        is_wrong = any(values[name] != labels[name] for name in _LABELS if name in labels)
        counts[case.lang][stratum].update(rows=1, errors=is_wrong, unsure=values["verdict"] == "unsure")
    results = {
        lang: {
            "sha256": every[lang].hexdigest(),
            "sample": sample[lang].hexdigest(),
            "strata": {name: dict(each) for name, each in sorted(counts[lang].items())},
        }
        for lang in every
    }
    return {"version": SCORER_VERSION} | results


def hash_sample() -> dict[str, str]:
    """Return the hash of the verdicts on the sample, for each language."""
    hashes = {lang: hashlib.sha256() for lang in get_args(Lang)}
    for _, case, response, _ in islice(read_rows_of_all_sets(), 0, None, _SAMPLED):
        hashes[case.lang].update(_encode(response, score(case, response)))
    return {lang: each.hexdigest() for lang, each in hashes.items()}


def _encode(response: str, values: dict[str, Value]) -> bytes:
    return json.dumps([response, values], sort_keys=True).encode()


def read_rows_of_all_sets() -> Iterator[tuple[str, Case, str, dict[str, bool]]]:
    """Yield the stratum, the case, the response and the labels of each row."""
    for part in get_args(Part):
        labels = read_final_labels(_FOLDER / "validation", part)
        for row in read_rows(_FOLDER / "validation", part):
            yield f"{part}: {row.stratum}", row.case(), row.response, labels[row.id]
    for lang in get_args(Lang):
        for line in (_FOLDER / "labelled" / f"{lang}.jsonl").read_text("utf-8").splitlines():
            pair = json.loads(line)
            case = make_case(pair["question"], pair["answer"], pair["fake"], lang)
            yield f"labelled: {pair['half']}", case, pair["reply"], pair["labels"]


def version_problem(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """Return what is wrong with the scorer's version, which is raised exactly when a recorded verdict changes."""
    has_changed = any(before[lang]["sha256"] != after[lang]["sha256"] for lang in get_args(Lang))
    if (after["version"] > before["version"]) == has_changed:
        return None
    found, version = ("a", before["version"] + 1) if has_changed else ("no", before["version"])
    return f"{found} verdict has changed; set SCORER_VERSION in src/ragbed/scoring/version.py to {version}"
