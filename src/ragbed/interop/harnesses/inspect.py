"""The tasks of exported testbeds and the scorer for Inspect AI."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, GenerateConfig
from inspect_ai.scorer import Metric, Score, Scorer, Target, grouped, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate

from ragbed import __version__
from ragbed.interop.exports.frozen import TestbedPart, condition_of, find_part, read_part
from ragbed.interop.exports.harness_tasks import EXPECTED, METRICS, names_for, numbers, pack, score_packed
from ragbed.schema import Case
from ragbed.scoring.version import SCORER_VERSION
from ragbed.testbeds.prompts import prompt_hash

__all__ = ["frozen_task", "ragbed_scorer"]

_TURNS: dict[str, Callable[..., ChatMessage]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
_FINISH = {"max_tokens": "length", "model_length": "length"}  # maps Inspect's stop reasons to our finish reasons
_SAMPLING = GenerateConfig(temperature=0.0, max_tokens=256)  # the defaults of `ragbed run`


def frozen_task(folder: Path, name: str) -> Task:
    """Return the task for an exported testbed part."""
    part = find_part(folder, name)
    return Task(
        name=name,
        dataset=MemoryDataset([_sample(case, part) for case in read_part(folder, part)], name=name),
        solver=generate(),
        scorer=ragbed_scorer(),
        metrics=_metrics(part),
        config=_SAMPLING,
        version=1,
        metadata={"ragbed": __version__, "scorers": SCORER_VERSION, "cases": part.sha256},
    )


def _sample(case: Case, part: TestbedPart) -> Sample:
    return Sample(
        id=case.case,
        input=[_TURNS[message.role](content=message.content) for message in case.messages],
        target=[alias for aliases in case.answer for alias in aliases],
        metadata={"condition": condition_of(case, part), "prompt": prompt_hash(case.messages), "record": pack(case)},
    )


def _metrics(part: TestbedPart) -> dict[str, list[Metric]]:
    """Return the mean over all cases and, if there are several conditions, the mean for each condition."""
    by_condition = [grouped(mean(), "condition", all=False)] if len(part.conditions) > 1 else []
    return {name: [mean(), stderr(), *by_condition] for name in names_for(part.testbed)}


@scorer(metrics={"*": [mean(), stderr()]}, name="ragbed")
def ragbed_scorer() -> Scorer:
    """Score responses with all scorers, as in ragbed's own runs. Missing scores are NaN, which Inspect omits."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - Inspect's signature
        reply = state.output.completion
        stop = state.output.stop_reason
        values = score_packed(state.metadata["record"], reply, _FINISH.get(stop, stop))
        found = numbers(values)
        return Score(
            value={name: found.get(name, math.nan) for name in (*METRICS, *(one for one in EXPECTED if one in values))},
            answer=reply,
            explanation=str(values["verdict"]),
            metadata={"values": values},
        )

    return score
