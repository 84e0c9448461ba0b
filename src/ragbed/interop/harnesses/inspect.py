"""What Inspect AI runs: tasks over frozen cases, and the scorer that calls ragbed's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, GenerateConfig
from inspect_ai.scorer import Metric, Score, Scorer, Target, grouped, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate

from ragbed import __version__
from ragbed.interop.exports.frozen import TestbedPart, condition_of, read_part, scorers_hash
from ragbed.interop.exports.harness_tasks import METRICS
from ragbed.interop.harnesses.frozen import find_part
from ragbed.interop.harnesses.inspect_model import CassetteAPI
from ragbed.interop.harnesses.scoring import numbers, pack, score_packed
from ragbed.interop.harnesses.shipped import SHIPPED, lay_out_shipped
from ragbed.schema import Case
from ragbed.testbeds.prompts import prompt_hash

__all__ = ["CassetteAPI", "frozen_task", "ragbed_scorer", "shipped_task"]

_TURNS: dict[str, Callable[..., ChatMessage]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
_SAMPLING = GenerateConfig(temperature=0.0, max_tokens=256)
"""As `ragbed run` asks by default."""


def frozen_task(folder: Path, name: str) -> Task:
    """A part of an exported testbed."""
    part = find_part(folder, name)
    return _task(name, part, read_part(folder, part))


def shipped_task(name: str) -> Task:
    """A testbed that is known by name."""
    part, cases = lay_out_shipped(name)
    return _task(name, part, cases)


def _task(name: str, part: TestbedPart, cases: Iterable[Case]) -> Task:
    return Task(
        name=name,
        dataset=MemoryDataset([_sample(case, part) for case in cases], name=name),
        solver=generate(),
        scorer=ragbed_scorer(),
        metrics=_metrics(part),
        config=_SAMPLING,
        version=1,
        metadata={"ragbed": __version__, "scorers": scorers_hash(), "cases": part.sha256},
    )


def _sample(case: Case, part: TestbedPart) -> Sample:
    return Sample(
        id=case.case,
        input=[_TURNS[message.role](content=message.content) for message in case.messages],
        target=[alias for aliases in case.answer for alias in aliases],
        metadata={"condition": condition_of(case, part), "prompt": prompt_hash(case.messages), "record": pack(case)},
    )


def _metrics(part: TestbedPart) -> dict[str, list[Metric]]:
    """Means over all cases, and over those of each condition where there are several."""
    usual = [mean(), stderr()]
    by_condition = [grouped(mean(), "condition", all=False)] if len(part.conditions) > 1 else []
    return dict.fromkeys(METRICS, usual + by_condition)


@scorer(metrics={"*": [mean(), stderr()]}, name="ragbed")
def ragbed_scorer() -> Scorer:
    """Scores as a run of ragbed does, on all tracks; not scored is NaN, Inspect's sign for it, and in no mean."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - Inspect's signature
        reply = state.output.completion
        values = score_packed(state.metadata["record"], reply)
        found = numbers(values)
        return Score(
            value={name: found.get(name, math.nan) for name in METRICS},
            answer=reply,
            explanation=str(values["verdict"]),
            metadata={"values": values},
        )

    return score


def _register(name: str) -> None:
    """Makes `inspect eval ragbed/<name>` work."""

    def make() -> Task:
        return shipped_task(name)

    make.__name__ = name
    task(name=name)(make)


for _name in SHIPPED:
    _register(_name)
