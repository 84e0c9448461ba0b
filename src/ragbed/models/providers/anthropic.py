"""Anthropic's messages API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ragbed.models.base import canonical
from ragbed.models.failures import Failure
from ragbed.models.providers.http_connection import decode_json
from ragbed.models.providers.http_model import HttpModel
from ragbed.schema import Case, Completion

_VERSION = "2023-06-01"
_FINISH = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}


# A paid response is not discarded for a field that is not needed, so those may have any type.
class _Block(msgspec.Struct):
    type: Any = None
    text: Any = None
    thinking: Any = None


class _Reply(msgspec.Struct):
    content: list[_Block]
    stop_reason: Any = None
    usage: Any = None


_DECODER = msgspec.json.Decoder(_Reply)


class AnthropicModel(HttpModel):
    """A model of Anthropic's, or of a server that speaks its protocol."""

    path = "v1/messages"

    def request(self, case: Case) -> bytes:
        """The body as it is sent: the system text stands apart from the turns."""
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
        if sampling.top_p != 1:  # newer models take one of the two only
            body["top_p"] = sampling.top_p
        return canonical(body)

    async def identity(self) -> str:
        """The name is dated and fixed by the provider."""
        return self._service.remote

    def _headers(self) -> Mapping[str, str]:
        key = self._service.key
        return {"anthropic-version": _VERSION} | ({} if key is None else {"x-api-key": key.reveal()})

    def _reader(self, case: Case) -> Callable[[bytes], Completion]:  # noqa: ARG002  # all replies read alike
        return parse_message


def parse_message(content: bytes) -> Completion:
    """A message as an outcome.

    Raises:
        Failure: It is none, holds no text, or was filtered.
    """
    try:
        reply = decode_json(content, _DECODER)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        start = content[:60].decode("utf-8", "replace")
        raise Failure("protocol", f"the reply is no message ({error}): {start!r}", again=True) from None
    stop = reply.stop_reason if isinstance(reply.stop_reason, str) else None
    if stop == "refusal":
        raise Failure("filter", "stop_reason is refusal", usage=_usage(reply.usage))
    texts = [block.text or "" for block in reply.content if block.type == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise Failure("protocol", "the response has a text block whose text is not a string", again=True)
    thoughts = [block.thinking for block in reply.content if block.type == "thinking"]
    thought = "\n".join(one for one in thoughts if isinstance(one, str))
    # A turn that ends without a word, or in the middle of thinking, is a reply: an empty one.
    if not texts and stop not in ("end_turn", "max_tokens"):
        problem = f"the reply has no text (stop_reason {stop})"
        raise Failure("empty", problem, again=stop != "tool_use", usage=_usage(reply.usage))
    return Completion(
        outcome="ok",
        reply="".join(texts),
        reasoning=thought or None,
        finish=_FINISH.get(stop or "", stop),
        usage=_usage(reply.usage),
    )


def _usage(usage: object) -> dict[str, int] | None:
    if not isinstance(usage, dict):
        return None
    counts = {"in": usage.get("input_tokens"), "out": usage.get("output_tokens")}
    told = {name: count for name, count in counts.items() if type(count) is int and 0 <= count < 1 << 40}
    return told or None
