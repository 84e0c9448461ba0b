"""A model of lm-evaluation-harness that answers from a cassette, by the very messages that the harness sends."""

from __future__ import annotations

import json
from typing import Any

from lm_eval.api.model import LM

from ragbed.models.cassette import Recording
from ragbed.schema import Message


class ReplayLM(LM):  # type: ignore[misc]  # lm-eval is not there where types are checked
    """Its chat template is JSON, so that it sees the messages as they are."""

    tokenizer_name = "json"

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._recording = recording

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        found = [self._recording.find([Message(**turn) for turn in json.loads(one.args[0])]) for one in requests]
        assert all(one.reply is not None for one in found)
        return [one.reply or "" for one in found]

    def chat_template(self, chat_template: bool | str = False) -> str:
        return "json"

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        return json.dumps(chat_history)

    def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
        raise NotImplementedError
