"""lm-evaluation-harness: a frozen testbed with a task, or a group of tasks, for each of its parts.

A part whose cases differ in noise is a group with one task for each ratio: an average over ratios means nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ragbed.interop.exports.frozen import Layout, freeze
from ragbed.interop.exports.records_base import Written

HERE = "here.py"
_LOADER = '''"""Where the cases of this testbed are, for lm-evaluation-harness with ragbed installed."""

from pathlib import Path

from ragbed.interop.harnesses.lm_eval import load_frozen


def load(part, condition="", **_):
    return load_frozen(Path(__file__).parent, part, condition)
'''
METRICS = (
    *("correct", "refused", "flagged", "misled"),
    *("paper.correct", "paper.refused", "paper.flagged", "code.correct", "code.refused", "code.flagged"),
)
"""What is averaged."""
_BETTER: dict[str, str | tuple[str, ...]] = {"rejection": "refused", "counterfactual": ("correct", "flagged")}
"""Of which metrics more is better, where that is not `correct` alone."""


def write_folder(layout: Layout, folder: Path, name: str) -> Written:
    """Fills a folder."""
    written, frozen = Written("cases"), freeze(layout, folder)
    written.count_parts(frozen.parts)
    prefix = re.sub(r"\W+", "_", name)
    names = []
    for part in frozen.parts:
        if part.cases:
            names.append(f"{prefix}_{part.name}")
            told = f', ragbed: "{frozen.ragbed}", scorers: "{frozen.scorers}", cases: "{part.sha256}"'
            text = task_yaml(names[-1], part.testbed, part.conditions, Loader("here.load", part.name, told))
            (folder / f"{names[-1]}.yaml").write_text(text, "utf-8")
    (folder / HERE).write_text(_LOADER, "utf-8")
    written.notes.append(
        f"Ask it, as in: lm_eval run --model hf --model_args pretrained=… --include_path {name} --tasks {names[0]} "
        "--apply_chat_template --log_samples --output_path results"
    )
    return written


class Loader(NamedTuple):
    """What gives the documents of a part."""

    function: str
    """As the task file names it."""
    part: str
    """What that function calls the part."""
    told: str = ""
    """What else a log is to say of it."""


def task_yaml(name: str, testbed: str, conditions: Sequence[str], loader: Loader) -> str:
    """The file that makes a part known to lm-evaluation-harness as a task or group of that name."""
    metadata = f"metadata: {{version: 1{loader.told}}}"
    if len(conditions) == 1:
        head = f"task: {name}\ndataset_kwargs: {{part: {loader.part}}}\n{metadata}\n"
    else:
        head = f"group: {name}\ntask:\n" + "".join(
            f'  - task: "{condition}"\n'
            f'    dataset_kwargs: {{part: {loader.part}, condition: "{condition}"}}\n'
            f"    {metadata}\n"
            for condition in conditions
        )
    better = _BETTER.get(testbed, "correct")
    metrics = "".join(
        f"  - {{metric: {metric}, aggregation: mean, higher_is_better: {str(metric.endswith(better)).lower()}}}\n"
        for metric in METRICS
    )
    return f"""{head}custom_dataset: !function {loader.function}
test_split: test
output_type: generate_until
description: system
doc_to_text: user
doc_to_target: target
process_results: !function ragbed.interop.harnesses.lm_eval.process_results
generation_kwargs:
  until: []
  do_sample: false
  temperature: 0.0
  max_gen_toks: 256
metric_list:
{metrics}"""
