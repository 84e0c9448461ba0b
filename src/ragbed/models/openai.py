"""Any server that speaks OpenAI's chat completions: OpenAI itself, vLLM, Ollama, llama.cpp, proxies."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

import msgspec

from ragbed.models.base import Sampling, canonical
from ragbed.models.failure import Failure, failed
from ragbed.models.pace import Pace
from ragbed.models.transport import Key, Patience, Transport
from ragbed.schema import Case, Completion

_THINKING = re.compile(r"\A\s*<think>(.*?)</think>\s*", re.DOTALL)


class _Message(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _ChatCompletion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


class _ModelList(msgspec.Struct):
    data: list[dict[str, object]] = []


_CHANGING = ("created", "permission")
_DECODER = msgspec.json.Decoder(_ChatCompletion)


class OpenAIModel:
    """A model behind one or several OpenAI-compatible servers.

    Args:
        name: The model string.
        remote: The name that the server knows the model by.
        urls: Base URLs, as `https://host/v1`; work goes to whichever is free.
        key: Sent as a bearer token, if there is one.
    """

    def __init__(
        self, name: str, remote: str, urls: Sequence[str], key: Key | None, sampling: Sampling, pace: Pace,
        patience: Patience,
    ) -> None:
        self.name, self.concurrency = name, pace.most
        self.advice = f"Check the key, the model's name and the address ({', '.join(urls)})."
        self._remote, self._key, self._sampling, self._urls = remote, key, sampling, list(urls)
        chat = [f"{url.rstrip('/')}/chat/completions" for url in urls]
        self._transport = Transport(chat, self._headers, pace, patience)

    async def complete(self, case: Case) -> Completion:
        """Asks the server, again where that may help."""
        try:
            reply, latency_s, attempts = await self._transport.ask(self.request(case), _parse)
        except Failure as failure:
            return failed(failure)
        return msgspec.structs.replace(reply, latency_s=round(latency_s, 4), attempts=attempts)

    def request(self, case: Case) -> bytes:
        """The body as it is sent."""
        return canonical(
            {
                "model": self._remote,
                "messages": case.messages,
                "temperature": self._sampling.temperature,
                "top_p": self._sampling.top_p,
                "max_tokens": self._sampling.max_tokens,
            }
        )

    async def identity(self) -> str:
        """What the servers say of the model, without the time, which some of them make up at every look."""
        found = []
        for url in self._urls:
            page = await self._transport.look_up(f"{url.rstrip('/')}/models")
            found.append(_describe(page, self._remote))
        return ";".join(sorted(set(found)))

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    def _headers(self) -> Mapping[str, str]:
        return {} if self._key is None else {"Authorization": f"Bearer {self._key.reveal()}"}


def _describe(page: bytes | None, remote: str) -> str:
    try:
        listed = msgspec.json.decode(page or b"{}", type=_ModelList).data
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    entry = next((entry for entry in listed if entry.get("id") == remote), {})
    told = {name: value for name, value in entry.items() if name not in _CHANGING}
    return hashlib.sha256(canonical(told)).hexdigest()[:16] if told else ""


def _parse(content: bytes) -> Completion:
    try:
        completion = _DECODER.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        start = content[:60].decode("utf-8", "replace")
        raise Failure("protocol", f"the reply is no chat completion ({error}): {start!r}", again=True) from None
    if not completion.choices:
        raise Failure("protocol", "the reply has no choices", again=True)
    choice = completion.choices[0]
    if choice.finish_reason == "content_filter" or choice.message.refusal:
        raise Failure("filter", choice.message.refusal or "finish_reason is content_filter")
    if choice.message.content is None:
        raise Failure("protocol", f"the reply has no text (finish_reason {choice.finish_reason})", again=True)
    reasoning, answer = split_reasoning(choice.message.content)
    usage = completion.usage
    counts = {} if usage is None else {"in": usage.prompt_tokens, "out": usage.completion_tokens}
    return Completion(
        outcome="ok",
        reply=answer,
        reasoning=choice.message.reasoning_content or choice.message.reasoning or reasoning,
        finish=choice.finish_reason,
        usage={name: count for name, count in counts.items() if count is not None} or None,
    )


def split_reasoning(text: str) -> tuple[str | None, str]:
    """Takes a leading `<think>…</think>` apart from the answer."""
    thought = _THINKING.match(text)
    return (thought[1].strip(), text[thought.end() :]) if thought else (None, text)
