"""What the robust scorer says about all labelled responses: a hash per language, and the errors per stratum."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from benches.scorer_rows import Part, read_final_labels, read_rows
from ragbed.schema import Case, Lang
from ragbed.scoring.robust import score
from ragbed.scoring.version import SCORER_VERSION
from tests.scoring.robust.cases import make_case

_FOLDER = Path(__file__).parents[2] / "tests" / "scoring"
_LABELS = ("correct", "refused", "flagged", "misled")


def record() -> dict[str, Any]:
    """Return the scorer's version, and for each language the hash and the errors and rows of each stratum."""
    hashes = {lang: hashlib.sha256() for lang in get_args(Lang)}
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for stratum, case, response, labels in read_rows_of_all_sets():
        values = score(case, response)
        hashes[case.lang].update(json.dumps([response, values], sort_keys=True).encode())
        is_wrong = any(values[name] != labels[name] for name in _LABELS if name in labels)
        counts[case.lang][stratum].update(rows=1, errors=is_wrong, unsure=values["verdict"] == "unsure")
    strata = {lang: {name: dict(each) for name, each in sorted(counts[lang].items())} for lang in hashes}
    results = {lang: {"sha256": hashes[lang].hexdigest(), "strata": strata[lang]} for lang in hashes}
    return {"version": SCORER_VERSION} | results


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
