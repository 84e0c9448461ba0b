"""Any server that speaks OpenAI's chat completions: OpenAI itself, vLLM, Ollama, llama.cpp, proxies."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from yarl import URL

from ragbed.models.base import canonical
from ragbed.models.failures import Failure, from_status
from ragbed.models.presets import Preset
from ragbed.models.providers.http_connection import decode_json
from ragbed.models.providers.http_model import HttpModel, ServiceConfig, below
from ragbed.models.reasoning import split_thinking
from ragbed.schema import Case, Completion

_SPEAKS = "is the address that of an OpenAI-compatible API, as http://host:8000/v1?"
_FILTERED = frozenset({"content_filter", "sensitive", "safety"})
"""What servers write as the reason to stop when a filter did."""

# What is needed has a type; what is only nice to know may be anything, since a paid reply is not thrown away for it.


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


class _Listed(msgspec.Struct):
    data: list[dict[str, Any]] = []


class _Tags(msgspec.Struct):
    models: list[dict[str, Any]] = []


_DECODER = msgspec.json.Decoder(_ChatCompletion)
_FIXED = ("id", "object", "owned_by", "root", "parent", "max_model_len", "meta", "digest")
"""What servers tell of a model that changes only with the model: vLLM's weights and length, llama.cpp's sizes.
Times and permissions are made up at every start, or at every look."""


class OpenAIModel(HttpModel):
    """A model behind one or several OpenAI-compatible servers.

    Args:
        service: Where it is.
        official: OpenAI itself, whose newer models take `max_completion_tokens` only, and no sampling by share.
        preset: How to prompt; the server gets whole prompts where it would not put them into the preset's form.
    """

    path = "chat/completions"

    def __init__(self, service: ServiceConfig, *, official: bool = False, preset: Preset | None = None) -> None:
        self._preset = preset
        if preset is not None and preset.served_by == "completions":
            self.path = "completions"
        super().__init__(service)
        self._limit = "max_completion_tokens" if official else "max_tokens"
        self._needs_top_p = not official

    def request(self, case: Case) -> bytes:
        """The body as it is sent."""
        sampling = self._service.sampling
        body: dict[str, object] = {
            "model": self._service.remote,
            "temperature": sampling.temperature,
            self._limit: sampling.max_tokens,
        }
        body |= {"messages": case.messages} if self._preset is None else self._preset.body(case)
        if self._needs_top_p or sampling.top_p != 1:  # vLLM takes the model's own default where none is sent
            body["top_p"] = sampling.top_p
        if sampling.choices and self.name.startswith("vllm/"):
            body["structured_outputs"] = {"choice": sampling.choices}
        return canonical(body)

    async def identity(self) -> str:
        """What the servers say of the model; several that say the same are one, and silent ones do not count."""
        told = await asyncio.gather(*(self._told_by(base) for base in self._bases))
        if all(told) and self._service.key is None:
            self._transport.door.open()  # they know the model and want no key, so there is nothing to be wrong
        return ";".join(sorted({what for what in told if what}))

    async def _told_by(self, base: URL) -> str:
        listed, tags = await asyncio.gather(
            self._transport.look_up(below(base, "models")), self._look_up_tags(base)
        )  # fmt: skip
        told = _listed(listed, self._service.remote) | _tagged(tags, self._service.remote)
        return hashlib.sha256(canonical(told)).hexdigest()[:16] if told else ""

    async def _look_up_tags(self, base: URL) -> bytes | None:
        """Ollama names the digest of the weights in an interface of its own."""
        if not self.name.startswith("ollama/"):
            return None
        return await self._transport.look_up(base.with_path("/api/tags"))

    def _headers(self) -> Mapping[str, str]:
        key = self._service.key
        return {} if key is None else {"Authorization": f"Bearer {key.reveal()}"}

    def _reader(self, case: Case) -> Callable[[bytes], Completion]:  # noqa: ARG002  # all replies read alike
        return parse_chat


def _listed(page: bytes | None, remote: str) -> dict[str, object]:
    try:
        listed = msgspec.json.decode(page or b"{}", type=_Listed).data
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    entry = next((entry for entry in listed if entry.get("id") == remote), {})
    return {name: entry[name] for name in _FIXED if name in entry}


def _tagged(page: bytes | None, remote: str) -> dict[str, object]:
    try:
        tags = msgspec.json.decode(page or b"{}", type=_Tags).models
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    names = (remote, f"{remote}:latest")
    return next(({"digest": tag["digest"]} for tag in tags if tag.get("name") in names and "digest" in tag), {})


def parse_chat(content: bytes) -> Completion:
    """A chat completion as an outcome.

    Raises:
        Failure: It is none, holds no text, or was filtered.
    """
    try:
        completion = decode_json(content, _DECODER)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        start = content[:60].decode("utf-8", "replace")
        problem = f"the reply is no chat completion ({error}): {start!r}; {_SPEAKS}"
        raise Failure("protocol", problem, again=True) from None
    usage = _usage(completion.usage)
    if not completion.choices:
        raise _without_choices(completion)
    choice = completion.choices[0]
    if choice.message is None and choice.text is None:
        raise Failure("protocol", "the reply has neither message nor text", again=True)
    message, finish = choice.message or _Message(choice.text), _text(choice.finish_reason)
    if message.refusal or (finish or "").lower() in _FILTERED:
        raise Failure("filter", _text(message.refusal) or f"finish_reason is {finish}", usage=usage)
    said, thought = _join(message.content)
    thought = _text(message.reasoning_content) or _text(message.reasoning) or thought
    if said is None:
        # Who has thought until the tokens were used up has had its say, and said nothing.
        if message.tool_calls or not (thought or finish == "length"):
            what = "calls tools" if message.tool_calls else f"has no text (finish_reason {finish})"
            raise Failure("empty", f"the reply {what}", again=not message.tool_calls, usage=usage)
        said = ""
    inline, answer = split_thinking(said)
    return Completion(outcome="ok", reply=answer, reasoning=thought or inline, finish=finish, usage=usage)


def _without_choices(completion: _ChatCompletion) -> Failure:
    """Some proxies send errors with status 200."""
    error = completion.error
    if not error:
        return Failure("protocol", f"the reply has no choices; {_SPEAKS}", again=True)
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return from_status(status, msgspec.json.encode(error).decode())


def _join(content: str | list[Any] | None) -> tuple[str | None, str | None]:
    """Text and thought of a message whose content may be a list of parts."""
    if content is None or isinstance(content, str):
        return content, None
    said: list[str] = []
    thought: list[str] = []
    for part in content:
        if isinstance(part, str):
            said.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            said.append(part["text"])
        elif isinstance(part, dict) and "thinking" in part:
            inner = part["thinking"]
            thought.append(
                inner if isinstance(inner, str) else _join(inner if isinstance(inner, list) else None)[0] or ""
            )
    return "".join(said) if said else None, "".join(thought) or None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _usage(usage: object) -> dict[str, int] | None:
    if not isinstance(usage, dict):
        return None
    counts = {"in": usage.get("prompt_tokens"), "out": usage.get("completion_tokens")}
    # A boolean is an int to Python, and neither it nor a negative number is a count.
    told = {name: count for name, count in counts.items() if type(count) is int and 0 <= count < 1 << 40}
    return told or None
