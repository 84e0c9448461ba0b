"""The published files, looked over once with all rules for all tests that need it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.datasets import Dataset
from ragbed.lint import RULES, Check, Finding


@pytest.fixture(scope="session")
def checked(rgb_dir: Path) -> dict[str, tuple[list[Finding], Check]]:
    """Findings and counts by file, in the order in which docs/lint.md has them."""
    questions: dict[str, dict[int, str]] = {}
    files = {}
    for name in ("en_fact", "zh_int", "zh_refine"):
        check = Check(Dataset(name, rgb_dir / f"{name}.json"), list(RULES.values()), questions=questions)
        files[name] = (list(check.findings()), check)
    return files
