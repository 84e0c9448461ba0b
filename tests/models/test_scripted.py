"""Scripted models score what arithmetic says they must, on every testbed (acceptance checks A5 and A9)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import pytest

from ragbed.data import Dataset
from ragbed.models.scripted import SCRIPTS, ScriptedModel
from ragbed.schema import Item
from ragbed.scoring import score
from ragbed.testbeds import TESTBEDS, WITHOUT_DOCUMENTS
from ragbed.testbeds.settings import Settings
from tests.items import as_dataset, base_item, fact_item, integration_item

_ITEMS: dict[str, list[Item]] = {
    "noise": [base_item(number) for number in range(20)],
    "rejection": [base_item(number) for number in range(20)],
    "length": [base_item(number) for number in range(20)],
    "injection": [base_item(number) for number in range(20)],
    "integration": [integration_item(number, (3, 2)) for number in range(20)],
    "counterfactual": [fact_item(number) for number in range(20)],
    "conflict": [fact_item(number) for number in range(20)],
    "closed-book": [base_item(number) for number in range(20)],
    "no-documents": [base_item(number) for number in range(20)],
}


def _rates(dataset: Dataset, testbed: str, script: str, settings: Settings) -> dict[float | None, dict[str, float]]:
    """Share of cases with each score, by noise ratio."""
    sums: dict[float | None, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for case in TESTBEDS[testbed].cases(dataset, settings):
        reply = asyncio.run(ScriptedModel(script).complete(case)).reply or ""
        sums[case.noise]["n"] += 1
        for name, value in score(case, reply).items():
            sums[case.noise][name] += value is True
    return {noise: {name: value / row["n"] for name, value in row.items()} for noise, row in sums.items()}


@pytest.mark.parametrize(
    ("script", "testbed", "correct", "refused"),
    [
        ("oracle", "noise", 1, 0),
        ("oracle", "rejection", 0, 1),
        ("oracle", "integration", 1, 0),
        ("oracle", "counterfactual", 0, 1),
        ("oracle", "closed-book", 0, 1),
        ("refuser", "noise", 0, 1),
        ("refuser", "rejection", 0, 1),
        ("memory", "noise", 1, 0),
        ("memory", "rejection", 1, 0),
        ("memory", "counterfactual", 1, 0),
        ("memory", "closed-book", 1, 0),
        ("majority", "noise", 1, 0),
        ("majority", "rejection", 0, 1),
        ("majority", "integration", 1, 0),
        ("majority", "counterfactual", 0, 0),
        ("gullible", "counterfactual", 0, 0),
        ("gullible", "noise", 1, 0),
        ("echo", "noise", 1, 0),
        ("echo", "rejection", 0, 0),
        ("echo", "closed-book", 0, 0),
    ],
)
def test_scores_are_all_or_nothing_where_the_script_decides(
    tmp_path: Path, script: str, testbed: str, correct: int, refused: int
) -> None:
    for rates in _rates(as_dataset(tmp_path, *_ITEMS[testbed]), testbed, script, Settings()).values():
        for scorer in ("code", "paper"):
            assert (rates[f"{scorer}.correct"], rates[f"{scorer}.refused"]) == (correct, refused)


@pytest.mark.parametrize("script", ["first-doc", "last-doc"])
def test_one_document_is_correct_as_often_as_it_supports(tmp_path: Path, script: str) -> None:
    rates = _rates(as_dataset(tmp_path, *_ITEMS["noise"]), "noise", script, Settings())
    assert {noise: rate["code.correct"] for noise, rate in rates.items()} == {
        0: 1,
        0.2: 0.8,
        0.4: 0.6,
        0.6: 0.4,
        0.8: 0.2,
    }


@pytest.mark.parametrize(("profile", "expected"), [("code-2024", 1.0), ("robust", 0.2)])
def test_the_last_document_exposes_the_fixed_position(rgb_dir: Path, profile: str, expected: float) -> None:
    dataset = Dataset("zh_refine", rgb_dir / "zh_refine.json")
    settings = Settings(noise=(Fraction("0.8"),), profile=profile)
    assert _rates(dataset, "noise", "last-doc", settings)[0.8]["code.correct"] == expected


def test_every_script_completes_every_testbed_without_retrieval(tmp_path: Path) -> None:
    for testbed in (name for name in TESTBEDS if name not in WITHOUT_DOCUMENTS):
        for script in SCRIPTS:
            assert _rates(as_dataset(tmp_path, *_ITEMS[testbed]), testbed, script, Settings())
