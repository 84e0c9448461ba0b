"""`ragbed-mini`: the fixed edition that ships with the package, small enough for a small model on two cores.

    python -m ragbed.synth.mini DIR

writes it anew; a test does so and compares the bytes with those that ship.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ragbed.schema import Lang
from ragbed.synth.generate import World, write_world
from ragbed.synth.spec import SynthSpec

PREFIX = "ragbed-mini-"
SEED = 2024
COUNTS = {"base": 60, "int": 20, "fact": 20}
_LANGS: tuple[Lang, ...] = ("en", "zh")

RECIPES = tuple(
    SynthSpec(
        seed=SEED,
        lang=lang,
        supports=6,
        distractors=6,
        part_supports=3,
        true_documents=5,
        tokens=65,
    )
    for lang in _LANGS
)
"""Documents for every mix of five, and no more, so that all fits in two megabytes."""


def write_mini(folder: Path) -> World:
    """Writes the edition to a folder."""
    return write_world(RECIPES, COUNTS, folder, workers=1, prefix=PREFIX)


if __name__ == "__main__":
    write_mini(Path(sys.argv[1]))
