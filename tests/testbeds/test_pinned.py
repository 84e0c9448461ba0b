"""Pinned cases: if a hash changes, stored cases of users change, which belongs in the changelog."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ragbed.data import Dataset, native
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.settings import Settings
from tests.items import base_item, fact_item, integration_item

_ITEMS = [
    *(base_item(n, lang="zh" if n % 3 == 0 else "en", distracts=4 + n % 7) for n in range(40)),
    *(integration_item(n, (3, 1 + n % 3)) for n in range(40, 60)),
    *(fact_item(n, pairs=3 + n % 4) for n in range(60, 80)),
]


@pytest.mark.parametrize(
    ("testbed", "settings", "pinned"),
    [
        ("noise", {}, "c3ceba087487"),
        ("noise", {"seed": 7, "num_docs": (3,), "noise": (Fraction(1, 3),)}, "d19e23e2666f"),
        ("noise", {"distractors": ("random",)}, "c4a783176205"),
        ("noise", {"distractors": ("fixed",)}, "7c06da135c74"),
        ("noise", {"all_positions": True, "noise": (Fraction(4, 5),)}, "085a3a5b05d9"),
        ("noise", {"profile": "code-2024"}, "26dbc5fd9979"),
        ("rejection", {}, "f76f43fd3f86"),
        ("integration", {}, "513da23d6744"),
        ("counterfactual", {"correct": (Fraction(0), Fraction(2, 5))}, "9f6d2f35ece2"),
        ("closed-book", {}, "9f40208c7808"),
    ],
)
def test_cases_are_the_same_on_every_machine(
    tmp_path: Path, testbed: str, settings: dict[str, Any], pinned: str
) -> None:
    path = tmp_path / "made.jsonl"
    path.write_bytes(b"".join(map(native.to_line, _ITEMS)))
    hasher = hashlib.sha256()
    for case in TESTBEDS[testbed].cases(Dataset("made", path), Settings(**settings)):
        hasher.update(msgspec.json.encode(case))
    assert hasher.hexdigest()[:12] == pinned
