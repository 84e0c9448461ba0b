"""Models served through Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import msgspec

from ragbed.errors import UsageError, option
from ragbed.models.base import ENDED_EARLY, completed, read_served
from ragbed.models.failures import Failure, decode_json
from ragbed.models.providers.batches import AnthropicBatches
from ragbed.models.providers.http_model import HttpModel, ServiceConfig
from ragbed.models.providers.urls import below
from ragbed.models.providers.usage import read_usage
from ragbed.schema import Case, Completion, Message, ToolCall
from ragbed.testbeds.search.protocol import TOOL, read_texts, tool_parameters
from ragbed.text import storable

_VERSION = "2023-06-01"
_FINISH = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}
_THOUGHTS = ("thinking", "redacted_thinking")


# A billed response must not be discarded because of a field that is not needed, so such fields may have any type.
class _Block(msgspec.Struct):
    type: Any = None
    text: Any = None
    thinking: Any = None
    id: Any = None
    name: Any = None
    input: Any = None


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
        sampling = self._config.sampling
        system = [message.content for message in case.messages if message.role == "system"]
        thinks = sampling.thinking not in (None, False)
        budget = 0 if sampling.thinking is None or isinstance(sampling.thinking, bool) else sampling.thinking
        body: dict[str, object] = {
            "model": self._service.remote,
            "messages": [message for message in case.messages if message.role != "system"],
            "max_tokens": max_tokens + budget,  # the limit includes the thinking budget
        }
        # If thinking is enabled, the API accepts only its default temperature, and rejects one that the user has set.
        if sampling.temperature is not None and (not thinks or "temperature" in self._config.fixed):
            body["temperature"] = sampling.temperature
        if system:
            body["system"] = "\n\n".join(system)
        if case.tools:
            tool = {"name": TOOL, "description": read_texts(case.lang)["tool"]}
            body["tools"] = [tool | {"input_schema": tool_parameters(case.lang)}]
            body["messages"] = _write_messages(case.messages)
        if sampling.top_p != 1:  # newer models accept a temperature or top_p, but not both
            body["top_p"] = sampling.top_p
        return body | self._fields

    async def identity(self) -> str:
        """Return the model ID that the provider reports for the name or alias; it is never reused for another model."""
        if self._service.is_custom:
            return ""
        info = await self._transport.look_up(below(self._base, f"v1/models/{self._service.remote}"))
        return str(info.get("id", self.dated_name))

    def _headers(self) -> Mapping[str, str]:
        key = self._service.key
        return {"anthropic-version": _VERSION} | ({} if key is None else {"x-api-key": key.reveal()})

    def open_batches(self) -> AnthropicBatches:
        """Return the provider's batch service; see `Batching`."""
        return AnthropicBatches(self._transport, self._base)

    @property
    def calls_tools(self) -> bool:
        """Whether the model can use tools; it cannot if thinking is enabled."""
        return self._config.sampling.thinking in (None, False)

    def _parser(self, case: Case) -> Callable[[bytes], Completion]:
        return partial(parse_message, with_tools=True) if case.tools else parse_message


def _write_messages(messages: Sequence[Message]) -> list[dict[str, object]]:
    """Convert messages to Anthropic's format; the results of all tool calls in a turn form one message."""
    written: list[dict[str, object]] = []
    for is_result, group in groupby(messages, lambda message: message.role == "tool"):
        if is_result:
            results = [
                {"type": "tool_result", "tool_use_id": message.call, "content": message.content}
                | ({"is_error": True} if message.is_error else {})
                for message in group
            ]
            written.append({"role": "user", "content": results})
            continue
        written += [
            {"role": message.role, "content": _blocks(message) if message.calls else message.content}
            for message in group
            if message.role != "system"
        ]
    return written


def _blocks(message: Message) -> list[dict[str, object]]:
    text = [{"type": "text", "text": message.content}] if message.content.strip() else []
    uses = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": msgspec.json.decode(call.arguments)}
        for call in message.calls
    ]
    return [*text, *uses]


def _read_calls(blocks: Sequence[_Block]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            id=storable(block.id) if isinstance(block.id, str) and block.id else f"call-{number}",
            name=storable(block.name) if isinstance(block.name, str) else "",
            arguments=storable(msgspec.json.encode(block.input).decode()),
        )
        for number, block in enumerate([block for block in blocks if block.type == "tool_use"])
    )


def _read_thought(blocks: Sequence[_Block]) -> str | None:
    """Return the reasoning, which is empty if its text is omitted or encrypted, or None if there is none."""
    texts = ["" if block.type == "redacted_thinking" else block.thinking for block in blocks if block.type in _THOUGHTS]
    found = [text for text in texts if isinstance(text, str)]
    return "\n".join(filter(None, found)) if found else None


def parse_message(content: bytes, *, with_tools: bool = False) -> Completion:
    """Return the outcome for a response from the Messages API.

    Args:
        content: The body of the response.
        with_tools: Whether the request offers a tool, which the response may call.

    Raises:
        Failure: The body is not a message, or the message has no text or was filtered.
    """
    message = decode_json(content, _DECODER, "a message")
    usage = read_usage(message.usage)
    stop = message.stop_reason if isinstance(message.stop_reason, str) else None
    served = read_served(model=message.model, id=message.id)
    unanswered = Completion(outcome="error", served=served)
    if stop == "refusal":
        problem = "the model refused to respond (stop_reason: refusal)"
        raise Failure("filter", problem, usage=usage, response=unanswered)
    if stop == "pause_turn":
        problem = (
            "the API paused the response (stop_reason: pause_turn); remove server tools from the extra request fields"
        )
        raise Failure("empty", problem, usage=usage, response=unanswered)
    texts = [block.text or "" for block in message.content if block.type == "text"]
    if not all(isinstance(text, str) for text in texts):
        problem = "the response contains a text block whose text is not a string"
        raise Failure("protocol", problem, again=True, usage=usage, response=unanswered)
    thought = _read_thought(message.content)
    finish = _FINISH.get(stop or "", stop)
    calls = _read_calls(message.content) if with_tools and finish not in ENDED_EARLY else ()
    done = completed("".join(texts), finish, usage, thought, served)
    if calls:
        return msgspec.structs.replace(done, calls=calls)
    # A response without text is valid if it ends normally without any thinking, or if it is truncated during thinking.
    if done.outcome == "ok" and not done.reply and (done.reasoning is not None or (not texts and stop != "end_turn")):
        problem = f"the response contains no text (stop_reason: {stop})"
        raise Failure("empty", problem, again=stop != "tool_use", usage=usage, response=done)
    return done


def _fields(service: ServiceConfig) -> dict[str, Any]:
    """Return the request fields for thinking and effort, and the user's extra fields.

    Raises:
        UsageError: The API has no field for an option.
    """
    sampling, fields = service.config.sampling, dict[str, Any]()
    if sampling.seed is not None:
        raise UsageError(
            f"{option('seed_model')} is not supported by {service.name}, because its API has no seed parameter. Omit "
            "this option."
        )
    if sampling.thinking is False:
        fields["thinking"] = {"type": "disabled"}
    elif sampling.thinking is True:
        fields["thinking"] = {"type": "adaptive"}
    elif sampling.thinking is not None:
        fields["thinking"] = {"type": "enabled", "budget_tokens": sampling.thinking}
    if sampling.reasoning_effort is not None:
        fields["output_config"] = {"effort": sampling.reasoning_effort}
    return fields | (sampling.extra_body or {})
