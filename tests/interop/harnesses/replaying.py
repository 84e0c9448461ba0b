"""A model of lm-evaluation-harness that replays a run."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from lm_eval.api.model import LM

from ragbed.interop.replay import ReplayModel
from ragbed.schema import Message
from ragbed.testbeds.prompts import prompt_hash


class ReplayLM(LM):  # type: ignore[misc]  # lm-eval is not installed where types are checked
    """Uses JSON as its chat template, so that it gets the original messages."""

    tokenizer_name = "json"

    def __init__(self, model: ReplayModel) -> None:
        super().__init__()
        self._model, self._cases = model, model.cases_by_prompt()

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        prompts = [[Message(**turn) for turn in json.loads(request.args[0])] for request in requests]
        found = [asyncio.run(self._model.complete(self._cases[prompt_hash(prompt)])) for prompt in prompts]
        assert all(completion.reply is not None for completion in found)
        return [completion.reply or "" for completion in found]

    def chat_template(self, chat_template: bool | str = False) -> str:
        return "json"

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        return json.dumps(chat_history)

    def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
        raise NotImplementedError
