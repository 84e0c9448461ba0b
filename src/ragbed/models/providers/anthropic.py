"""Anthropic's messages API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ragbed.models.base import canonical
from ragbed.models.failures import Failure
from ragbed.models.providers.batches import AnthropicBatches
from ragbed.models.providers.http.connection import decode_json
from ragbed.models.providers.http_model import HttpModel
from ragbed.models.providers.usage import read_usage
from ragbed.schema import Case, Completion

_VERSION = "2023-06-01"
_FINISH = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}


# A paid response is not discarded for a field that is not needed, so those may have any type.
class _Block(msgspec.Struct):
    type: Any = None
    text: Any = None
    thinking: Any = None


class _Message(msgspec.Struct):
    content: list[_Block]
    stop_reason: Any = None
    usage: Any = None


_DECODER = msgspec.json.Decoder(_Message)


class AnthropicModel(HttpModel):
    """A model of Anthropic, or of a server with the same API."""

    path = "v1/messages"

    def request(self, case: Case) -> bytes:
        """Return the body of the request; the system text is not a message."""
        sampling = self._service.sampling
        system = [message.content for message in case.messages if message.role == "system"]
        body: dict[str, object] = {
            "model": self._service.remote,
            "messages": [message for message in case.messages if message.role != "system"],
            "temperature": sampling.temperature,
            "max_tokens": sampling.max_tokens,
        }
        if system:
            body["system"] = "\n\n".join(system)
        if sampling.top_p != 1:  # newer models accept only one of the two
            body["top_p"] = sampling.top_p
        return canonical(body)

    async def identity(self) -> str:
        """Return the name, which the provider never reuses."""
        return self._service.remote

    def _headers(self) -> Mapping[str, str]:
        key = self._service.key
        return {"anthropic-version": _VERSION} | ({} if key is None else {"x-api-key": key.reveal()})

    def open_batches(self) -> AnthropicBatches:
        """Return the batches of the provider; see `Batching`."""
        return AnthropicBatches(self.batch_client())

    def _parser(self, case: Case) -> Callable[[bytes], Completion]:  # noqa: ARG002  # all responses have one format
        return parse_message


def parse_message(content: bytes) -> Completion:
    """Return the outcome for a message.

    Raises:
        Failure: It is not a message, has no text, or was filtered.
    """
    message = decode_json(content, _DECODER, "a message")
    usage = read_usage(message.usage)
    stop = message.stop_reason if isinstance(message.stop_reason, str) else None
    if stop == "refusal":
        raise Failure("filter", "stop_reason is refusal", usage=usage)
    texts = [block.text or "" for block in message.content if block.type == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise Failure("protocol", "the response has a text block whose text is not a string", again=True)
    thoughts = [block.thinking for block in message.content if block.type == "thinking"]
    # A turn that ends without a text, or while thinking, is an empty response.
    if not texts and stop not in ("end_turn", "max_tokens"):
        problem = f"the response has no text (stop_reason {stop})"
        raise Failure("empty", problem, again=stop != "tool_use", usage=usage)
    return Completion(
        outcome="ok",
        reply="".join(texts),
        reasoning="\n".join(thought for thought in thoughts if isinstance(thought, str)) or None,
        finish=_FINISH.get(stop or "", stop),
        usage=usage,
    )
