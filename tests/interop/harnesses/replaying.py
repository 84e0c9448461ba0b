"""A model of lm-evaluation-harness that returns the recorded responses of a cassette."""

from __future__ import annotations

import json
from typing import Any

from lm_eval.api.model import LM

from ragbed.models.cassette import Recording
from ragbed.schema import Message


class ReplayLM(LM):  # type: ignore[misc]  # lm-eval is not installed where types are checked
    """Uses JSON as its chat template, so that it gets the original messages."""

    tokenizer_name = "json"

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._recording = recording

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        found = [
            self._recording.find([Message(**turn) for turn in json.loads(request.args[0])]) for request in requests
        ]
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
