"""Models of Inspect AI and lm-evaluation-harness that replay a run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from inspect_ai.model import GenerateConfig, ModelAPI, ModelOutput, modelapi
from lm_eval.api.model import LM

from ragbed.interop.replay import ReplayModel
from ragbed.schema import Message
from ragbed.testbeds.prompts import prompt_hash


class _Replies:
    """The stored replies of a run, by prompt."""

    def __init__(self, archive: str) -> None:
        self._model = ReplayModel(archive)
        self._cases = {prompt_hash(case.messages): case for case in self._model._store.cases()}

    async def find(self, prompt: Iterable[Message]) -> str:
        found = await self._model.complete(self._cases[prompt_hash(list(prompt))])
        assert found.reply is not None
        return found.reply


@modelapi(name="replay")
class ReplayAPI(ModelAPI):  # type: ignore[misc]  # Inspect is not installed where types are checked
    def __init__(self, model_name: str, config: GenerateConfig | None = None, **_: object) -> None:
        super().__init__(model_name, None, None, [], config or GenerateConfig())
        self._replies = _Replies(model_name)

    async def generate(self, input: list[Any], *_: object, **__: object) -> ModelOutput:  # noqa: A002 - Inspect's name
        reply = await self._replies.find(Message(role=turn.role, content=turn.text) for turn in input)
        return ModelOutput.from_content(self.model_name, reply)


class ReplayLM(LM):  # type: ignore[misc]  # lm-eval is not installed where types are checked
    """Uses JSON as its chat template, so that it gets the original messages."""

    tokenizer_name = "json"

    def __init__(self, archive: str) -> None:
        super().__init__()
        self._replies = _Replies(archive)

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        prompts = [[Message(**turn) for turn in json.loads(request.args[0])] for request in requests]
        return [asyncio.run(self._replies.find(prompt)) for prompt in prompts]

    def chat_template(self, chat_template: bool | str = False) -> str:
        return "json"

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        return json.dumps(chat_history)

    def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
        raise NotImplementedError
