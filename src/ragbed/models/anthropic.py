"""Anthropic's messages API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ragbed.models.base import canonical
from ragbed.models.failure import Failure
from ragbed.models.served import ServedModel
from ragbed.schema import Case, Completion

_VERSION = "2023-06-01"
_FINISH = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}


class _Block(msgspec.Struct):
    type: str
    text: str = ""
    thinking: str = ""


class _Reply(msgspec.Struct):
    content: list[_Block]
    stop_reason: str | None = None
    usage: Any = None


_DECODER = msgspec.json.Decoder(_Reply)


class AnthropicModel(ServedModel):
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
        reply = _DECODER.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        start = content[:60].decode("utf-8", "replace")
        raise Failure("protocol", f"the reply is no message ({error}): {start!r}", again=True) from None
    if reply.stop_reason == "refusal":
        raise Failure("filter", "stop_reason is refusal", usage=_usage(reply.usage))
    texts = [block.text for block in reply.content if block.type == "text"]
    thought = "\n".join(block.thinking for block in reply.content if block.type == "thinking")
    # A turn that ends without a word, or in the middle of thinking, is a reply: an empty one.
    if not texts and reply.stop_reason not in ("end_turn", "max_tokens"):
        again = reply.stop_reason != "tool_use"
        problem = f"the reply has no text (stop_reason {reply.stop_reason})"
        raise Failure("empty", problem, again=again, usage=_usage(reply.usage))
    return Completion(
        outcome="ok",
        reply="".join(texts),
        reasoning=thought or None,
        finish=_FINISH.get(reply.stop_reason or "", reply.stop_reason),
        usage=_usage(reply.usage),
    )


def _usage(usage: object) -> dict[str, int] | None:
    if not isinstance(usage, dict):
        return None
    counts = {"in": usage.get("input_tokens"), "out": usage.get("output_tokens")}
    told = {name: count for name, count in counts.items() if type(count) is int and 0 <= count < 1 << 40}
    return told or None
