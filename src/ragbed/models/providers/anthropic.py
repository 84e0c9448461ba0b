"""Models served through Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ragbed.errors import UsageError
from ragbed.models.base import completed
from ragbed.models.failures import Failure
from ragbed.models.providers.batches import AnthropicBatches
from ragbed.models.providers.http.connection import decode_json
from ragbed.models.providers.http_model import HttpModel, ServiceConfig
from ragbed.models.providers.usage import read_usage
from ragbed.schema import Case, Completion, Served
from ragbed.text import storable

_VERSION = "2023-06-01"
_MAX_NAME = 200  # maximum characters of a served model's name or a response ID
_ENDED_EARLY = ("max_tokens", "model_context_window_exceeded")
_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    **dict.fromkeys(_ENDED_EARLY, "length"),
}
_MIN_BUDGET = 1_024  # the minimum thinking budget that the API accepts, in tokens


# A paid response must not be discarded because of a field that is not needed, so such fields may have any type.
class _Block(msgspec.Struct):
    type: Any = None
    text: Any = None
    thinking: Any = None


class _Message(msgspec.Struct):
    content: list[_Block]
    stop_reason: Any = None
    usage: Any = None
    model: Any = None
    id: Any = None


_DECODER = msgspec.json.Decoder(_Message)


class AnthropicModel(HttpModel):
    """A model served by Anthropic or by a server with the same API."""

    path = "v1/messages"

    def __init__(self, service: ServiceConfig) -> None:
        self._fields = _fields(service)
        super().__init__(service, frozenset(self._fields))

    def _body(self, case: Case, max_tokens: int) -> Mapping[str, object]:
        sampling = self._service.sampling
        system = [message.content for message in case.messages if message.role == "system"]
        thinks = sampling.thinking not in (None, False)
        budget = 0 if sampling.thinking is None or isinstance(sampling.thinking, bool) else sampling.thinking
        body: dict[str, object] = {
            "model": self._service.remote,
            "messages": [message for message in case.messages if message.role != "system"],
            "max_tokens": max_tokens + budget,  # the thinking budget is part of the limit
        }
        if sampling.temperature is not None and not thinks:  # no temperature is accepted while thinking is enabled
            body["temperature"] = sampling.temperature
        if system:
            body["system"] = "\n\n".join(system)
        if sampling.top_p != 1:  # newer models accept only one of the two
            body["top_p"] = sampling.top_p
        return body | self._fields

    async def identity(self) -> str:
        """Return the model's name, which the provider never reuses."""
        return self._service.remote

    def _headers(self) -> Mapping[str, str]:
        key = self._service.key
        return {"anthropic-version": _VERSION} | ({} if key is None else {"x-api-key": key.reveal()})

    def open_batches(self) -> AnthropicBatches:
        """Return the provider's batch service; see `Batching`."""
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
    is_redacted = any(block.type == "redacted_thinking" for block in message.content)
    # A turn that ends with neither text nor thoughts is an empty response; one that ends during thinking is truncated.
    if not texts and (stop not in _ENDED_EARLY and (stop != "end_turn" or any(thoughts) or is_redacted)):
        problem = f"the response has no text (stop_reason {stop})"
        raise Failure("empty", problem, again=stop != "tool_use", usage=usage)
    thought = "\n".join(thought for thought in thoughts if isinstance(thought, str)) or None
    names = {"model": message.model, "id": message.id}
    served = {name: storable(value)[:_MAX_NAME] for name, value in names.items() if isinstance(value, str) and value}
    return completed(
        "".join(texts), _FINISH.get(stop or "", stop), usage, thought, Served(**served) if served else None
    )


def _fields(service: ServiceConfig) -> dict[str, Any]:
    """Return the fields for thinking and effort, and the user's extra fields.

    Raises:
        UsageError: The API has no field for an option.
    """
    sampling, fields = service.sampling, dict[str, Any]()
    if sampling.seed is not None:
        raise UsageError(f"`seed_model` is not supported by {service.name}: the API has no seed. Leave it out.")
    if sampling.thinking is False:
        fields["thinking"] = {"type": "disabled"}
    elif sampling.thinking is True:
        fields["thinking"] = {"type": "adaptive"}
    elif sampling.thinking is not None:
        if sampling.thinking < _MIN_BUDGET:
            raise UsageError(f"thinking=budget={sampling.thinking}: {service.name} needs at least {_MIN_BUDGET:,}.")
        fields["thinking"] = {"type": "enabled", "budget_tokens": sampling.thinking}
    if sampling.reasoning_effort is not None:
        fields["output_config"] = {"effort": sampling.reasoning_effort}
    return fields | (sampling.extra_body or {})
