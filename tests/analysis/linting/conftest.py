"""The findings of all rules on the published files, computed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.analysis.linting import RULES, DatasetCheck, LintFinding
from ragbed.data import Dataset


@pytest.fixture(scope="session")
def checked(rgb_dir: Path) -> dict[str, tuple[list[LintFinding], DatasetCheck]]:
    """Return findings and counts by file, in the order of docs/reference/lint-rules.md."""
    questions: dict[str, dict[int, str]] = {}
    files = {}
    for name in ("en_fact", "zh_int", "zh_refine"):
        check = DatasetCheck(Dataset(name, rgb_dir / f"{name}.json"), list(RULES.values()), questions=questions)
        files[name] = (list(check.findings()), check)
    return files
