"""Profiles code-2023 and code-2024 against 16,200 prompts that the original code made."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from ragbed.datasets import Dataset
from ragbed.prompts import Instructions
from ragbed.schema import Case
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.settings import PROFILES, Settings

_TESTBED_OF = {"en_fact": "counterfactual", "zh_int": "integration", "zh_refine": "noise"}


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _says_the_same(case: Case, line: dict[str, Any]) -> bool:
    if "error" in line:
        return not case.feasible
    documents = [_sha(document.text)[:16] for document in case.documents]
    return bool(documents == line["documents"] and _sha(case.messages[-1].content) == line["user"])


def test_every_golden_prompt_is_repeated_byte_for_byte(golden_dir: Path, rgb_dir: Path) -> None:
    conditions: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = defaultdict(dict)
    with open(golden_dir / "cases.jsonl", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            asked = (line["profile"], line["file"], line["noise"], line["k"], line["correct"])
            conditions[asked][str(line["id"])] = line
    same = 0
    for (profile, file, noise, docs, correct), expected in conditions.items():
        settings = Settings(
            noise=(Fraction(str(noise)),),
            docs=docs,
            correct=(Fraction(str(correct)),),
            profile=profile,
            instructions=Instructions(PROFILES[profile].prompts),
        )
        name = "closed-book" if docs == 0 else "rejection" if file == "zh_refine" and noise == 1 else _TESTBED_OF[file]
        cases = list(TESTBEDS[name].cases(Dataset(file, rgb_dir / f"{file}.json"), settings))
        assert len(cases) == len(expected)
        same += sum(_says_the_same(case, expected[case.item]) for case in cases)
    assert same == 16_200


def test_the_system_messages_are_the_original_ones(golden_dir: Path) -> None:
    for profile in ("code-2023", "code-2024"):
        expected = json.loads((golden_dir / f"system-{profile}.json").read_text())
        instructions = Instructions(PROFILES[profile].prompts)
        for lang in ("en", "zh"):
            assert _sha(instructions.messages(lang, "q", ["d"])[0].content) == expected[lang]
