"""Scripted models have a response in every testbed; tests/analysis/metrics/test_scripted.py checks their scores."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ragbed.data.catalog import open_data
from ragbed.models.scripted import SCRIPTS, ScriptedModel
from ragbed.schema import GivenDocument
from ragbed.testbeds import TESTBEDS, WITHOUT_DOCUMENTS
from ragbed.testbeds.settings import Settings
from tests.items import as_dataset, base_item


@pytest.mark.parametrize("testbed", [name for name in TESTBEDS if name not in WITHOUT_DOCUMENTS])
def test_every_script_completes_every_testbed_without_retrieval(testbed: str, tmp_path: Path) -> None:
    datasets = open_data([f"ragbed-mini-en_{kind}" for kind in ("base", "int", "fact")])
    given = base_item(passages=(), expect="answer", documents=(GivenDocument(text="Q0: it is gold-0-gold."),))
    datasets.append(as_dataset(tmp_path, given))
    cases = [case for data in datasets for case in TESTBEDS[testbed].cases(data, Settings(limit=3)) if case.feasible]
    assert cases
    for script in SCRIPTS:
        assert {asyncio.run(ScriptedModel(script).complete(case)).outcome for case in cases} == {"ok"}
