"""The task files by which lm-evaluation-harness finds ragbed's testbeds, made anew.

    python -m ragbed.interop.harnesses.files DIR

A test does so and compares the files with those that ship.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ragbed.interop.exports.harness_tasks import Loader, task_yaml
from ragbed.interop.harnesses.shipped import SHIPPED

_LOAD = "ragbed.interop.harnesses.lm_eval.load_shipped"


def write_files(folder: Path) -> None:
    """Writes them to a folder."""
    for name, one in SHIPPED.items():
        # lm-eval has thousands of tasks, so ours say whose they are.
        called = name if one.family == "rgb" else f"ragbed_{name}"
        text = task_yaml(called, one.testbed, one.conditions, Loader(_LOAD, name))
        (folder / f"{called}.yaml").write_text(text, "utf-8")


if __name__ == "__main__":
    write_files(Path(sys.argv[1]))
