"""Anthropic's messages API."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ragbed.models.base import Sampling, canonical
from ragbed.models.failure import Failure, failed
from ragbed.models.pace import Pace
from ragbed.models.transport import Key, Patience, Transport
from ragbed.schema import Case, Completion

_VERSION = "2023-06-01"


class _Block(msgspec.Struct):
    type: str
    text: str = ""
    thinking: str = ""


class _Usage(msgspec.Struct):
    input_tokens: int = 0
    output_tokens: int = 0


class _Reply(msgspec.Struct):
    content: list[_Block]
    stop_reason: str | None = None
    usage: _Usage | None = None


_DECODER = msgspec.json.Decoder(_Reply)


class AnthropicModel:
    """A model of Anthropic's, or of a server that speaks its protocol."""

    advice = "Check ANTHROPIC_API_KEY and the model's name."

    def __init__(self, remote: str, url: str, key: Key, sampling: Sampling, pace: Pace, patience: Patience) -> None:
        self.name, self.concurrency = f"anthropic/{remote}", pace.most
        self._remote, self._key, self._sampling = remote, key, sampling
        self._transport = Transport([f"{url.rstrip('/')}/v1/messages"], self._headers, pace, patience)

    async def complete(self, case: Case) -> Completion:
        """Asks the server, again where that may help."""
        try:
            reply, latency_s, attempts = await self._transport.ask(self.request(case), _parse)
        except Failure as failure:
            return failed(failure)
        return msgspec.structs.replace(reply, latency_s=round(latency_s, 4), attempts=attempts)

    def request(self, case: Case) -> bytes:
        """The body as it is sent: the system text stands apart from the turns."""
        system = [message.content for message in case.messages if message.role == "system"]
        body: dict[str, object] = {
            "model": self._remote,
            "messages": [message for message in case.messages if message.role != "system"],
            "temperature": self._sampling.temperature,
            "max_tokens": self._sampling.max_tokens,
        }
        if system:
            body["system"] = "\n\n".join(system)
        if self._sampling.top_p != 1:  # newer models take one of the two only
            body["top_p"] = self._sampling.top_p
        return canonical(body)

    async def identity(self) -> str:
        """The name is dated and fixed by the provider."""
        return self._remote

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    def _headers(self) -> Mapping[str, str]:
        return {"x-api-key": self._key.reveal(), "anthropic-version": _VERSION}


def _parse(content: bytes) -> Completion:
    try:
        reply = _DECODER.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        start = content[:60].decode("utf-8", "replace")
        raise Failure("protocol", f"the reply is no message ({error}): {start!r}", again=True) from None
    if reply.stop_reason == "refusal":
        raise Failure("filter", "stop_reason is refusal")
    texts = [block.text for block in reply.content if block.type == "text"]
    if not texts:
        raise Failure("protocol", f"the reply has no text (stop_reason {reply.stop_reason})", again=True)
    thoughts = "\n".join(block.thinking for block in reply.content if block.type == "thinking")
    finish = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}
    return Completion(
        outcome="ok",
        reply="".join(texts),
        reasoning=thoughts or None,
        finish=finish.get(reply.stop_reason or "", reply.stop_reason),
        usage={"in": reply.usage.input_tokens, "out": reply.usage.output_tokens} if reply.usage else None,
    )
