"""What the robust scorer says about all labelled responses: a hash per language, and the errors per stratum."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from itertools import islice
from typing import Any, get_args

from benches.scorer_rows import LABELS, read_all_sets
from ragbed.schema import Lang
from ragbed.scoring.robust import score
from ragbed.scoring.value import Value
from ragbed.scoring.version import SCORER_VERSION

_LABELS = (*LABELS, "misled")
_SAMPLED = 5  # one in so many rows is in the sample that the quick tests check


def record() -> dict[str, Any]:
    """Return the scorer's version, and for each language the hashes and the errors and rows of each stratum."""
    every, sample = ({lang: hashlib.sha256() for lang in get_args(Lang)} for _ in range(2))
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for number, row in enumerate(read_all_sets()):
        values, lang = score(row.case, row.reply), row.case.lang
        for hashes in (every,) if number % _SAMPLED else (every, sample):
            hashes[lang].update(_encode(row.reply, values))
        stratum, is_wrong = f"{row.source}: {row.stratum}", row.is_wrong(values, _LABELS)
        counts[lang][stratum].update(rows=1, errors=is_wrong, unsure=values["verdict"] == "unsure")
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
    for row in islice(read_all_sets(), 0, None, _SAMPLED):
        hashes[row.case.lang].update(_encode(row.reply, score(row.case, row.reply)))
    return {lang: each.hexdigest() for lang, each in hashes.items()}


def _encode(response: str, values: dict[str, Value]) -> bytes:
    return json.dumps([response, values], sort_keys=True).encode()


def version_problem(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """Return what is wrong with the scorer's version, which is raised exactly when a recorded verdict changes."""
    has_changed = any(before[lang]["sha256"] != after[lang]["sha256"] for lang in get_args(Lang))
    if (after["version"] > before["version"]) == has_changed:
        return None
    found, version = ("a", before["version"] + 1) if has_changed else ("no", before["version"])
    return f"{found} verdict has changed; set SCORER_VERSION in src/ragbed/scoring/version.py to {version}"
