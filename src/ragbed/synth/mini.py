"""Generate `ragbed-mini`, the bundled dataset, on which a small model can be evaluated with two CPU cores.

    python -m ragbed.synth.mini DIR

A test generates the dataset and compares it byte by byte with the bundled files.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import get_args

from ragbed.schema import Lang
from ragbed.synth.generate import SynthManifest, write_dataset
from ragbed.synth.spec import SynthSpec

PREFIX = "ragbed-mini-"
SEED = 2024
COUNTS = {"base": 60, "int": 20, "fact": 20}

# Each item has just enough documents for prompts with five documents, so that the files stay smaller than two
# megabytes.
SPECS = tuple(
    SynthSpec(SEED, lang, supports=6, distractors=6, part_supports=3, true_documents=5, tokens=65)
    for lang in get_args(Lang)
)


def write_mini(folder: Path) -> SynthManifest:
    """Write the dataset to a folder."""
    return write_dataset(SPECS, COUNTS, folder, workers=1, prefix=PREFIX)


if __name__ == "__main__":
    write_mini(Path(sys.argv[1]))
