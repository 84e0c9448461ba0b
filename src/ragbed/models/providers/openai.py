"""OpenAI's chat completions and compatible servers: OpenAI, vLLM, Ollama, llama.cpp, proxies."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any

import msgspec
from yarl import URL

from ragbed.models.base import canonical, split_thinking
from ragbed.models.failures import Failure, from_status
from ragbed.models.presets import Preset
from ragbed.models.providers.batches import OpenAIBatches
from ragbed.models.providers.http.connection import decode_json
from ragbed.models.providers.http_model import HttpModel, ServiceConfig, below
from ragbed.models.providers.usage import read_usage
from ragbed.schema import Case, Completion

_HINT = "check that the base URL is that of an OpenAI-compatible API, e.g. http://host:8000/v1"
# Values of finish_reason for a content filter.
_FILTERED = frozenset({"content_filter", "sensitive", "safety"})

# A paid response is not discarded for a field that is not needed, so those may have any type.


class _Message(msgspec.Struct):
    content: str | list[Any] | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: Any = None
    tool_calls: Any = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    text: str | None = None
    finish_reason: Any = None


class _ChatCompletion(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None


_DECODER = msgspec.json.Decoder(_ChatCompletion)
# Fields of a listed model that change only with the model: weights and length in vLLM, sizes in llama.cpp. Times and
# permissions change at every start or every request.
_FIXED = ("id", "object", "owned_by", "root", "parent", "max_model_len", "meta", "digest")


class OpenAIModel(HttpModel):
    """A model of one or several OpenAI-compatible servers.

    Args:
        service: The servers.
        official: Whether the server is OpenAI's. Its newer models accept only `max_completion_tokens`, and no top_p.
        preset: How to prompt; the server gets complete prompts if it does not apply the preset's format.
    """

    path = "chat/completions"

    def __init__(self, service: ServiceConfig, *, official: bool = False, preset: Preset | None = None) -> None:
        self._preset, self._official = preset, official
        if preset is not None and preset.served_by == "completions":
            self.path = "completions"
        super().__init__(service)

    def request(self, case: Case) -> bytes:
        """Return the body of the request."""
        sampling = self._service.sampling
        body: dict[str, object] = {
            "model": self._service.remote,
            "temperature": sampling.temperature,
            "max_completion_tokens" if self._official else "max_tokens": sampling.max_tokens,
        }
        body |= {"messages": case.messages} if self._preset is None else self._preset.body(case)
        if not self._official or sampling.top_p != 1:  # without it vLLM uses the default of the model
            body["top_p"] = sampling.top_p
        if sampling.choices and self.name.startswith("vllm/"):
            body["structured_outputs"] = {"choice": sampling.choices}
        return canonical(body)

    async def identity(self) -> str:
        """Return a hash of what the servers report about the model; servers that report nothing are ignored."""
        found = await asyncio.gather(*map(self._describe, self._bases))
        if all(found) and self._service.key is None:
            self._transport.probe.open()  # they know the model and need no key, so nothing can be wrong
        return ";".join(sorted(set(found) - {""}))

    async def _describe(self, base: URL) -> str:
        remote, pages = self._service.remote, [self._transport.get(below(base, "models"))]
        if self.name.startswith("ollama/"):  # its own API has the digest of the weights
            pages.append(self._transport.get(base.with_path("/api/tags")))
        listed, *tags = await asyncio.gather(*pages)
        entry = _find(listed, "data", "id", (remote,))
        fields = {name: entry[name] for name in _FIXED if name in entry}
        for page in tags:
            tag = _find(page, "models", "name", (remote, f"{remote}:latest"))
            fields |= {"digest": tag["digest"]} if "digest" in tag else {}
        return hashlib.sha256(canonical(fields)).hexdigest()[:16] if fields else ""

    def open_batches(self) -> OpenAIBatches:
        """Return the batches of the server; see `Batching`."""
        return OpenAIBatches(self.batch_client())

    def _parser(self, case: Case) -> Callable[[bytes], Completion]:  # noqa: ARG002  # all responses have one format
        return parse_chat


def _find(page: bytes | None, field: str, key: str, values: tuple[str, ...]) -> dict[str, Any]:
    """Return the first entry of a JSON list whose key has one of the values; empty if there is none."""
    try:
        entries = msgspec.json.decode(page or b"{}", type=dict[str, Any]).get(field, [])
        return next((entry for entry in entries if entry.get(key) in values), {})
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError, AttributeError):
        return {}


def parse_chat(content: bytes) -> Completion:
    """Return the outcome for a chat completion.

    Raises:
        Failure: It is not a chat completion, has no text, or was filtered.
    """
    completion = decode_json(content, _DECODER, "a chat completion", f"; {_HINT}")
    usage = read_usage(completion.usage)
    if not completion.choices:
        raise _without_choices(completion)
    choice = completion.choices[0]
    if choice.message is None and choice.text is None:
        raise Failure("protocol", "the response has neither message nor text", again=True)
    message, finish = choice.message or _Message(choice.text), _text(choice.finish_reason)
    if message.refusal or (finish or "").lower() in _FILTERED:
        raise Failure("filter", _text(message.refusal) or f"finish_reason is {finish}", usage=usage)
    text, thought = _join(message.content)
    thought = _text(message.reasoning_content) or _text(message.reasoning) or thought
    if text is None:
        # A model that used up its tokens for reasoning gave an empty answer.
        if message.tool_calls or not (thought or finish == "length"):
            problem = "calls tools" if message.tool_calls else f"has no text (finish_reason {finish})"
            raise Failure("empty", f"the response {problem}", again=not message.tool_calls, usage=usage)
        text = ""
    inline, answer = split_thinking(text)
    return Completion(outcome="ok", reply=answer, reasoning=thought or inline, finish=finish, usage=usage)


def _without_choices(completion: _ChatCompletion) -> Failure:
    error = completion.error
    if not error:
        return Failure("protocol", f"the response has no choices; {_HINT}", again=True)
    # Some proxies send errors with status 200.
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return from_status(status, msgspec.json.encode(error).decode())


def _join(content: str | list[Any] | None) -> tuple[str | None, str | None]:
    """Return the text and the reasoning of a message whose content may be a list of parts."""
    if content is None or isinstance(content, str):
        return content, None
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(part, dict) and isinstance(part.get("thinking"), str | list):
            thoughts.append(_join(part["thinking"])[0] or "")
    return "".join(texts) if texts else None, "".join(thoughts) or None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
