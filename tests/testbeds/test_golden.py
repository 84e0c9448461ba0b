"""Profiles code-2023 and code-2024 against 16,200 prompts of the original code (tests/golden)."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from ragbed.data import Dataset
from ragbed.schema import Case
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.prompts import Instructions
from ragbed.testbeds.settings import PROFILES, Settings
from tests.golden.facts import FOLDER, read_facts, short_hash

_TESTBED_OF = {"en_fact": "counterfactual", "zh_int": "integration", "zh_refine": "noise"}


def _says_the_same(case: Case, line: dict[str, Any]) -> bool:
    if "error" in line:
        return not case.feasible
    documents = [short_hash(document.text) for document in case.documents]
    return bool(documents == line["documents"] and short_hash(case.messages[-1].content) == line["user"])


def _key(line: dict[str, Any]) -> tuple[Any, ...]:
    return line["profile"], line["file"], line["k"], line["correct"]


def _testbed(file: str, docs: int, noise: float) -> str:
    if docs == 0:
        return "closed-book"
    return "rejection" if file == "zh_refine" and noise == 1 else _TESTBED_OF[file]


def test_every_golden_prompt_is_repeated_byte_for_byte(rgb_dir: Path) -> None:
    golden = list(read_facts("cases"))
    expected = {(*_key(line), line["noise"], str(line["id"])): line for line in golden}
    ratios: dict[tuple[Any, ...], set[float]] = defaultdict(set)
    for line in golden:
        testbed = _testbed(line["file"], line["k"], line["noise"])
        ratios[*_key(line), testbed].add(line["noise"])
    same = 0
    for (profile, file, docs, correct, testbed), noises in ratios.items():
        settings = Settings(
            noise=tuple(Fraction(str(noise)) for noise in sorted(noises)),
            num_docs=(docs,),
            correct=(Fraction(str(correct)),),
            profile=profile,
        )
        for case in TESTBEDS[testbed].cases(Dataset(file, rgb_dir / f"{file}.json"), settings):
            line = expected.pop((profile, file, docs, correct, case.noise or 0.0, case.item))
            same += _says_the_same(case, line)
    assert same == 16_200
    assert not expected


def test_the_system_messages_are_the_original_ones() -> None:
    hashes = json.loads((FOLDER / "system.json").read_text("utf-8"))
    for profile in ("code-2023", "code-2024"):
        instructions = Instructions(PROFILES[profile].prompts)
        for lang in ("en", "zh"):
            system = instructions.messages(lang, "q", ["d"])[0].content
            assert hashlib.sha256(system.encode()).hexdigest() == hashes[profile][lang]
