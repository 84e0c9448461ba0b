"""The tasks of exported testbeds, the scorer and the `replay/<run or archive>` model for Inspect AI."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.scorer import Metric, Score, Scorer, Target, grouped, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate
from inspect_ai.tool import ToolChoice, ToolInfo

from ragbed import __version__
from ragbed.interop.exports.frozen import TestbedPart, condition_of, find_part, read_part
from ragbed.interop.exports.harness_tasks import METRICS, numbers, pack, score_packed
from ragbed.interop.replay import UNKNOWN, ReplayModel
from ragbed.models.base import CONTEXT_FULL
from ragbed.schema import Case, Completion, Message
from ragbed.scoring.version import SCORER_VERSION
from ragbed.testbeds.prompts import prompt_hash

__all__ = ["ReplayAPI", "frozen_task", "ragbed_scorer"]

_TURNS: dict[str, Callable[..., ChatMessage]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
_STOPS = {
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    CONTEXT_FULL: "model_length",
    "content_filter": "content_filter",
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
    return {name: [mean(), stderr(), *by_condition] for name in METRICS}


@scorer(metrics={"*": [mean(), stderr()]}, name="ragbed")
def ragbed_scorer() -> Scorer:
    """Score responses with all scorers, as in ragbed's own runs. Missing scores are NaN, which Inspect omits."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - Inspect's signature
        reply = state.output.completion
        stop = state.output.stop_reason
        values = score_packed(state.metadata["record"], reply, _FINISH.get(stop, stop))
        found = numbers(values)
        return Score(
            value={name: found.get(name, math.nan) for name in METRICS},
            answer=reply,
            explanation=str(values["verdict"]),
            metadata={"values": values},
        )

    return score


@modelapi(name="replay")
class ReplayAPI(ModelAPI):  # type: ignore[misc]  # Inspect is not installed where types are checked
    """Looks up stored responses by prompt; a stored error or a missing response becomes a sample error."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - Inspect's signature
        **_: object,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        self._model = ReplayModel(model_name)
        self._cases = self._model.cases_by_prompt()

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 - Inspect's signature
        tools: list[ToolInfo],  # noqa: ARG002
        tool_choice: ToolChoice,  # noqa: ARG002
        config: GenerateConfig,  # noqa: ARG002
    ) -> ModelOutput:
        """Return the stored response to the messages."""
        case = self._cases.get(prompt_hash([Message(role=turn.role, content=turn.text) for turn in input]))
        if case is None:
            raise RuntimeError(f"{UNKNOWN}: {self.model_name} has no case with this prompt")
        found = await self._model.complete(case)
        if found.outcome == "error":
            raise RuntimeError(found.error)
        return _output(self.model_name, found)


def _output(model: str, found: Completion) -> ModelOutput:
    # Use the stored token counts: Inspect does not count tokens, and its mock model would download a tokeniser.
    stop = "content_filter" if found.outcome == "filtered" else _STOPS.get(found.finish or "", "stop")
    counts = found.usage or {}
    read, wrote = counts.get("in", 0), counts.get("out", 0)
    return ModelOutput(
        model=model,
        choices=[ChatCompletionChoice(message=ChatMessageAssistant(content=found.reply or ""), stop_reason=stop)],
        usage=ModelUsage(input_tokens=read, output_tokens=wrote, total_tokens=read + wrote),
    )
