"""Small synthetic datasets for tests."""

from __future__ import annotations

from pathlib import Path

import ragbed
from ragbed.data import Dataset


def write_long(folder: Path, lang: str, items: int, num_docs: int) -> Dataset:
    """Write base items with one supporting document and otherwise distractors."""
    ragbed.synthesize(
        folder, items=items, integration=0, counterfactual=0, lang=lang, num_docs=num_docs, supporting=1,
        perturbations="none", workers=1, progress=False,
    )  # fmt: skip
    return Dataset(f"long-{lang}", folder / f"{lang}_base.jsonl")
