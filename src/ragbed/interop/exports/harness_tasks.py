"""Export frozen testbeds as tasks for Inspect AI and lm-evaluation-harness, and score responses inside them.

Inspect AI gets one task per part. lm-evaluation-harness gets a task per part, or a group with one task per noise ratio,
because an average over ratios is not meaningful.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import msgspec

from ragbed.interop.exports.frozen import Layout, TestbedPart, freeze
from ragbed.interop.exports.records_base import Written
from ragbed.models.base import completed
from ragbed.schema import Case
from ragbed.scoring import score, score_outcome
from ragbed.scoring.value import Value
from ragbed.testbeds import wanted_scores
from ragbed.testbeds.given import GIVEN

_INSPECT_FILE = "tasks.py"
_INSPECT_HEAD = '''"""Tasks of a frozen testbed (described in testbed.json) for Inspect AI with ragbed installed.

    inspect eval {file}@{first} --model openai/gpt-4o-mini
"""

from pathlib import Path

from inspect_ai import Task, task

from ragbed.interop.harnesses.inspect import frozen_task

HERE = Path(__file__).parent
'''
_INSPECT_TASK = """

@task
def {name}() -> Task:
    return frozen_task(HERE, "{name}")
"""
_LM_EVAL_FILE = "here.py"
_LM_EVAL_LOADER = '''"""Load the cases of this testbed for lm-evaluation-harness with ragbed installed."""

from pathlib import Path

from ragbed.interop.harnesses.lm_eval import load_frozen


def load(part, condition="", **_):
    return load_frozen(Path(__file__).parent, part, condition)
'''
# Names of the scores that Inspect AI and lm-evaluation-harness average over cases.
METRICS = (
    *("correct", "refused", "flagged", "misled"),
    *("paper.correct", "paper.refused", "paper.flagged", "code.correct", "code.refused", "code.flagged"),
)
# Further scores, of the responses to given documents.
EXPECTED = ("expected", "paper.expected", "code.expected")


def names_for(testbed: str) -> tuple[str, ...]:
    """Return the names of the scores that a testbed has."""
    return (*METRICS, *EXPECTED) if testbed == GIVEN.name else METRICS


def write_inspect(layout: Layout, folder: Path, out: Path) -> Written:
    """Write a testbed and its Inspect AI tasks to a folder that will be renamed to `out`."""
    frozen = freeze(layout, folder)
    parts = [part.name for part in frozen.parts if part.cases]
    tasks = [_INSPECT_TASK.format(name=part) for part in parts]
    text = _INSPECT_HEAD.format(file=_INSPECT_FILE, first=parts[0]) + "".join(tasks)
    (folder / _INSPECT_FILE).write_text(text, "utf-8", newline="\n")
    written = Written.from_parts(frozen.parts)
    task = shlex.quote(f"{out / _INSPECT_FILE}@{parts[0]}")
    written.notes.append(f"To run a task: inspect eval {task} --model openai/gpt-4o-mini")
    return written


def write_lm_eval(layout: Layout, folder: Path, out: Path) -> Written:
    """Write a testbed and its lm-evaluation-harness tasks to a folder that will be renamed to `out`."""
    frozen = freeze(layout, folder)
    prefix = re.sub(r"\W+", "_", out.resolve().name)
    names = []
    for part in frozen.parts:
        if part.cases:
            names.append(f"{prefix}_{part.name}")
            known = f'ragbed: "{frozen.ragbed}", scorers: {frozen.scorers}, cases: "{part.sha256}"'
            text = task_yaml(names[-1], part, f"metadata: {{version: 1, {known}}}")
            (folder / f"{names[-1]}.yaml").write_text(text, "utf-8", newline="\n")
    (folder / _LM_EVAL_FILE).write_text(_LM_EVAL_LOADER, "utf-8", newline="\n")
    written = Written.from_parts(frozen.parts)
    written.notes.append(
        f"To run a task: lm_eval run --model hf --model_args pretrained=… --include_path {shlex.quote(str(out))} "
        f"--tasks {names[0]} --apply_chat_template --log_samples --output_path results"
    )
    return written


def task_yaml(name: str, part: TestbedPart, metadata: str) -> str:
    """Return the YAML that registers a testbed part with lm-evaluation-harness as a task or task group."""
    if len(part.conditions) == 1:
        head = f"task: {name}\ndataset_kwargs: {{part: {part.name}}}\n{metadata}\n"
    else:
        head = f"group: {name}\ntask:\n" + "".join(
            f'  - task: "{condition}"\n'
            f'    dataset_kwargs: {{part: {part.name}, condition: "{condition}"}}\n'
            f"    {metadata}\n"
            for condition in part.conditions
        )
    better = wanted_scores(part.testbed)
    metrics = "".join(
        f"  - {{metric: {metric}, aggregation: mean, higher_is_better: {str(metric.endswith(better)).lower()}}}\n"
        for metric in names_for(part.testbed)
    )
    return f"""{head}custom_dataset: !function here.load
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


_DECODER = msgspec.json.Decoder(Case)
_ENCODER = msgspec.json.Encoder()


def pack(case: Case) -> str:
    """Encode a case without its prompt as JSON, to be stored in a harness's sample."""
    return _ENCODER.encode(msgspec.structs.replace(case, messages=())).decode()


def score_packed(record: str, reply: str, finish: str | None = None) -> dict[str, Value]:
    """Return a response's scores of all scorers, as in a run.

    Reasoning is not scored, a truncated response gets no credit from the robust scorer, and a filtered response gets no
    credit from any scorer.

    Args:
        record: The packed case.
        reply: The response, which may contain reasoning.
        finish: The finish reason; `length` if the response reached the token limit, `content_filter` if it was
            filtered, None if it is unknown.
    """
    case = _DECODER.decode(record)
    if finish == "content_filter":
        return score(case, "") | {"verdict": "filtered"}
    return score_outcome(case, completed(reply, finish, None)) or {}


def numbers(values: dict[str, Value]) -> dict[str, float]:
    """Return only the boolean and numeric scores, as floats."""
    return {name: float(value) for name, value in values.items() if isinstance(value, bool | float)}
