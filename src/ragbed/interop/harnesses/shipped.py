"""Built-in testbeds with the paper's conditions; harnesses find them by name once ragbed is installed.

    python -m ragbed.interop.harnesses.shipped DIR

writes the task files for lm-evaluation-harness. A test compares them with the bundled files.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from ragbed.data.catalog import open_data
from ragbed.errors import UnknownName
from ragbed.interop.exports.frozen import Layout, PartCounts, TestbedPart, part_name
from ragbed.interop.exports.harness_tasks import Loader, task_yaml
from ragbed.schema import Case, Lang
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.ability import Ability
from ragbed.testbeds.settings import Settings, show_ratio

# The datasets of each family by item kind; they are bundled or downloaded with `ragbed data get`.
_FILES = {
    "mini": {"base": "ragbed-mini-{lang}_base", "int": "ragbed-mini-{lang}_int", "fact": "ragbed-mini-{lang}_fact"},
    "rgb": {"base": "{lang}_refine", "int": "{lang}_int", "fact": "{lang}_fact"},
}
_KINDS = {
    "noise": ("base",),
    "rejection": ("base",),
    "integration": ("int",),
    "counterfactual": ("fact",),
    "closed-book": ("base", "int", "fact"),
}


@dataclass(frozen=True)
class Shipped:
    """A built-in testbed."""

    family: str
    lang: Lang
    testbed: str

    @property
    def name(self) -> str:
        """The task name, e.g. `mini_en_noise`."""
        return f"{self.family}_{part_name(self.lang, self.testbed)}"

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions of the testbed's cases, derived without reading the data."""
        testbed = TESTBEDS[self.testbed]
        ratios = testbed.noise if isinstance(testbed, Ability) else ()
        return tuple(f"noise={show_ratio(noise)}" for noise in ratios) if len(ratios) > 1 else ("",)


SHIPPED = {
    shipped.name: shipped
    for shipped in (Shipped(family, lang, bed) for family in _FILES for lang in get_args(Lang) for bed in _KINDS)
}


def make_shipped_cases(name: str) -> tuple[TestbedPart, list[Case]]:
    """Generate the feasible cases of a built-in testbed deterministically.

    Raises:
        UsageError: The name is unknown, or the data has not been downloaded.
    """
    if name not in SHIPPED:
        raise UnknownName("testbed", name, SHIPPED)
    shipped = SHIPPED[name]
    datasets = open_data([_FILES[shipped.family][kind].format(lang=shipped.lang) for kind in _KINDS[shipped.testbed]])
    layout = Layout(datasets, [TESTBEDS[shipped.testbed]], Settings(langs=(shipped.lang,)), named=True)
    counts = PartCounts(shipped.lang, shipped.testbed)
    cases = [case for case in layout.cases() if counts.add(case)]
    return counts.part(), cases


def write_files(folder: Path) -> None:
    """Write the task files for lm-evaluation-harness to a folder."""
    for name, shipped in SHIPPED.items():
        # lm-eval has thousands of tasks, so ragbed's task names have a prefix.
        task = name if shipped.family == "rgb" else f"ragbed_{name}"
        loader = Loader("ragbed.interop.harnesses.lm_eval.load_shipped", name)
        text = task_yaml(task, shipped.testbed, shipped.conditions, loader)
        (folder / f"{task}.yaml").write_text(text, "utf-8", newline="\n")


if __name__ == "__main__":
    write_files(Path(sys.argv[1]))
