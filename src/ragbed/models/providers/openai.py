"""Models served through OpenAI's chat completions API, or by compatible servers (`dialects.py`)."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from ragbed.models.base import CONTEXT_FULL, ENDED_EARLY, canonical, completed, read_served
from ragbed.models.failures import Failure, decode_json, from_status
from ragbed.models.presets import Preset
from ragbed.models.providers.dialects import CompatibleProvider, response_format
from ragbed.models.providers.http_model import HttpModel, ServiceConfig
from ragbed.models.providers.streaming import is_stream, join_events
from ragbed.models.providers.urls import below
from ragbed.models.providers.usage import read_usage
from ragbed.models.token_limit import has_reasoned
from ragbed.schema import Case, Completion, Lang, Message, Served, ToolCall
from ragbed.testbeds.search.protocol import TOOL, read_texts, tool_parameters
from ragbed.text import storable

if TYPE_CHECKING:
    from ragbed.models.providers.batches import BatchService

_HINT = "check that the base URL belongs to an OpenAI-compatible API, e.g. http://host:8000/v1"
# Values of finish_reason, in lower case and without spaces, hyphens and underscores.
# The response was blocked by a content filter.
_FILTERED = frozenset({
    "contentfilter", "contentfiltered", "guardrailintervened", "errortoxic", "refusal",
    "sensitive", "safety", "recitation", "prohibitedcontent", "blocklist", "spii",
})  # fmt: skip
# The server did not complete the response: DeepSeek, Zhipu, vLLM, SGLang, Cohere and watsonx.
_INTERRUPTED = frozenset({
    "insufficientsystemresource", "networkerror", "abort", "aborted", "cancelled", "canceled", "usercancel",
    "timelimit",
})  # fmt: skip
# The response reached the token limit; OpenAI uses `length`.
_LENGTH = frozenset({"length", "maxtokens", "maxlength", "maxoutputtokens", "tokenlimit", "incomplete"})
# The response filled the context window: Mistral, Zhipu and Cohere.
_CONTEXT = frozenset({"modellength", "modelcontextwindowexceeded", "contextlength", "errorlimit"})

_STATUS = re.compile("[45][0-9]{2}")
_MAX_EXCERPT = 200  # maximum number of bytes of a response to show in an error message
_RESENT = "reasoning_content"  # the field of a message with tool calls that is sent back to the server

# A billed response must not be discarded because of a field that is not needed, so such fields may have any type.


class _Message(msgspec.Struct):
    content: str | list[Any] | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: Any = None
    tool_calls: Any = None


class _Choice(msgspec.Struct):
    index: Any = None
    message: _Message | None = None
    text: str | None = None
    finish_reason: Any = None
    error: Any = None


class _ChatCompletion(msgspec.Struct):
    object: Any = None
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None
    model: Any = None
    provider: Any = None
    system_fingerprint: Any = None
    id: Any = None
    prompt_feedback: Any = None


_DECODER = msgspec.json.Decoder(_ChatCompletion)
# Matches the types of content parts that contain reasoning, e.g. redacted_thinking and reasoning_summary.
_THOUGHTS = re.compile("think|reason|thought", re.IGNORECASE)
# Fields in a server's metadata that change only with the model: weights and context length in vLLM; sizes in llama.cpp;
# digest in Ollama. Other fields change on every start or do not identify a model.
_FIXED = frozenset({"root", "parent", "max_model_len", "meta", "digest"})


class OpenAIModel(HttpModel):
    """A model on an OpenAI-compatible server.

    Args:
        service: The connection settings.
        provider: The provider's parameters.
        preset: The prompt format, if any; complete prompts are sent unless the server applies the format.
        official: Whether the server is OpenAI's own, whose newer models do not accept top_p.
    """

    path = "chat/completions"
    may_stream = True

    def __init__(
        self,
        service: ServiceConfig,
        provider: CompatibleProvider,
        *,
        preset: Preset | None = None,
        official: bool = False,
    ) -> None:
        self._preset, self._provider, self._official = preset, provider, official
        if preset is not None and preset.served_by == "completions":
            self.path = "completions"
        self._fields = provider.fields(service.config.sampling, service.name)
        super().__init__(service, frozenset(self._fields))

    def _body(self, case: Case, max_tokens: int) -> Mapping[str, object]:
        sampling = self._config.sampling
        body: dict[str, object] = {"model": self._service.remote, self._provider.max_tokens: max_tokens}
        if sampling.temperature is not None:
            body["temperature"] = sampling.temperature
        body |= {"messages": case.messages} if self._preset is None else self._preset.body(case)
        if case.tools:
            body |= {"messages": [_write_message(message) for message in case.messages], "tools": [_tool(case.lang)]}
        if not self._official or sampling.top_p != 1:  # if top_p is omitted, vLLM uses the model's default
            body["top_p"] = sampling.top_p
        if sampling.choices and self._provider.choices is not None:
            body |= self._provider.choices(sampling.choices)
        if sampling.schema is not None and self._provider.choices is not None:
            body |= response_format("response", sampling.schema)
        return body | self._fields

    async def identity(self) -> str:
        """Return a hash of the model metadata that the server reports, or a hosted model's name with a date."""
        base = self._base
        remote, pages = self._service.remote, [self._transport.look_up(below(base, "models"))]
        if self.name.startswith("ollama/"):  # Ollama's own API reports the digest of the weights
            pages.append(self._transport.look_up(base.with_path("/api/tags")))
        listed, *tags = await asyncio.gather(*pages)
        entry = _find(listed, "data", "id", (remote,))
        found = [entry, *(_find(page, "models", "name", (remote, f"{remote}:latest")) for page in tags)]
        fields = {name: value for one in found for name, value in one.items()
                  if name in _FIXED and value not in (None, remote)}  # fmt: skip
        if any(found) and self._service.key is None:
            self._allow_concurrency()  # the server lists the model without a key
        if fields:
            return hashlib.sha256(canonical(fields)).hexdigest()[:16]
        return self.dated_name if self._provider.needs_key else ""

    def open_batches(self) -> BatchService:
        """Return the server's batch service; see `Batching`."""
        from ragbed.models.providers.batches import BatchService  # noqa: PLC0415 - few runs use batches

        return BatchService(self._transport, self._base)

    @property
    def calls_tools(self) -> bool:
        """Whether the model can use tools, which must be sent with chat messages."""
        return self._preset is None

    def _parser(self, case: Case) -> Callable[[bytes], Completion]:
        return partial(parse_chat, with_tools=case.tools)


def _tool(lang: Lang) -> dict[str, object]:
    function = {"name": TOOL, "description": read_texts(lang)["tool"], "parameters": tool_parameters(lang)}
    return {"type": "function", "function": function}


def _write_message(message: Message) -> dict[str, object]:
    """Convert a message, which may contain tool calls or their results, to OpenAI's format."""
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call, "content": message.content}
    written: dict[str, object] = {"role": message.role, "content": message.content}
    if message.calls:
        extras = [dict(call.extra or {}) for call in message.calls]
        if _RESENT in extras[0]:
            written[_RESENT] = extras[0].pop(_RESENT)
        written["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}} | extra
            for call, extra in zip(message.calls, extras, strict=True)
        ]
    return written


def _read_calls(message: _Message) -> tuple[ToolCall, ...]:
    """Return the tool calls in a response; an invalid call becomes a call to a tool without a name.

    The message's reasoning is stored with the first call, because DeepSeek requires it in the next request.
    """
    calls, found = message.tool_calls, list[ToolCall]()
    for number, call in enumerate(calls if isinstance(calls, list) else [calls] if calls else []):
        fields = call if isinstance(call, dict) else {}
        function = fields.get("function")
        function = function if isinstance(function, dict) else {}
        arguments = function.get("arguments")
        if not isinstance(arguments, str):  # some servers send an object instead of a JSON string
            arguments = msgspec.json.encode(arguments).decode()
        extra = {name: value for name, value in fields.items() if name not in ("id", "type", "function", "index")}
        if number == 0 and isinstance(message.reasoning_content, str):
            extra[_RESENT] = storable(message.reasoning_content)
        name = _text(function.get("name")) or ""
        identifier = _text(fields.get("id")) or f"call-{number}"
        found.append(
            ToolCall(id=storable(identifier), name=storable(name), arguments=storable(arguments), extra=extra or None)
        )
    return tuple(found)


def _find(page: dict[str, Any], field: str, key: str, values: tuple[str, ...]) -> dict[str, Any]:
    """Search a list for an object whose `key` field has one of the given values; return {} if there is none."""
    entries = page.get(field)
    found = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return next((entry for entry in found if entry.get(key) in values), {})


def parse_chat(content: bytes, *, with_tools: bool = False) -> Completion:
    """Return the outcome for a chat completion.

    Args:
        content: The response body.
        with_tools: Whether the request offers a tool, which the response may call.

    Raises:
        Failure: The body is not a chat completion, or the completion has no text or was filtered.
    """
    if is_stream(content):
        content = join_events(content)
    completion = decode_json(content, _DECODER, "a chat completion", f"; {_HINT}")
    try:
        return _read_chat(completion, content, with_tools=with_tools)
    except Failure as failure:  # a response without an answer, e.g. a filtered one, may still name its model
        failure.response = failure.response or Completion(outcome="error", served=_served(completion))
        raise


def _read_chat(completion: _ChatCompletion, content: bytes, *, with_tools: bool) -> Completion:
    usage = read_usage(completion.usage)
    feedback = completion.prompt_feedback
    if isinstance(feedback, dict) and (blocked := feedback.get("block_reason")):  # Gemini
        raise Failure("filter", f"the prompt was blocked ({blocked})", usage=usage)
    if not completion.choices:
        raise _without_choices(completion, usage, content)
    # An extra request field such as `n` may add choices, and servers may send them in any order.
    choice = next((choice for choice in completion.choices if choice.index == 0), completion.choices[0])
    finish = _text(choice.finish_reason)
    # Gemini adds details: `content_filter: RECITATION`.
    reason = re.sub(r"[\s_-]", "", (finish or "").partition(":")[0]).lower()
    # A stream may end with an error after a part of the text, without a finish reason.
    if choice.error or reason == "error" or (completion.error and finish is None):
        raise _from_error(choice.error or completion.error, usage)
    message = choice.message or _Message(choice.text)
    _check_finish(message, finish, reason, usage)
    if choice.message is None and choice.text is None:
        raise Failure("protocol", "the response contains neither a message nor text", again=True, usage=usage)
    finish = "length" if reason in _LENGTH else CONTEXT_FULL if reason in _CONTEXT else finish
    text, part = _join(message.content)
    thought = _read_thought(message.reasoning_content) or _read_thought(message.reasoning) or part
    done = completed(text or "", finish, usage, thought, _served(completion))
    if with_tools and message.tool_calls and finish not in ENDED_EARLY:
        return msgspec.structs.replace(done, outcome="ok", calls=_read_calls(message))
    # An empty text is the model's own answer, unless the model has reasoned or the text consists of tags.
    has_thought = has_reasoned(done)
    if done.outcome == "ok" and not (done.reply or "").strip() and (has_thought or text != done.reply):
        thought = "a thought, but " if has_thought else ""
        contents = "tool calls" if message.tool_calls else f"{thought}no text (finish_reason {finish})"
        problem = f"the response contains {contents}"
        raise Failure("empty", problem, again=not message.tool_calls, usage=usage, response=done)
    return done


def _check_finish(message: _Message, finish: str | None, reason: str, usage: dict[str, int] | None) -> None:
    """Check that a response was neither filtered nor interrupted; such a response may have no message.

    Raises:
        Failure: The response was filtered or interrupted.
    """
    if message.refusal or reason in _FILTERED:
        raise Failure("filter", _text(message.refusal) or f"finish_reason is {finish}", usage=usage)
    if reason in _INTERRUPTED:
        problem = f"the server interrupted the response (finish_reason {finish})"
        raise Failure("server", problem, again=True, usage=usage)


def _read_thought(field: object) -> str | None:
    """Return the reasoning in a field, which may be a list of parts like a message's content."""
    return "".join(filter(None, _join(field))) if isinstance(field, str | list) else None


def _served(completion: _ChatCompletion) -> Served | None:
    fingerprint, response = completion.system_fingerprint, completion.id
    return read_served(model=completion.model, provider=completion.provider, fingerprint=fingerprint, id=response)


def _without_choices(completion: _ChatCompletion, usage: dict[str, int] | None, content: bytes) -> Failure:
    if completion.error:
        return _from_error(completion.error, usage)
    is_chat = completion.choices is not None or str(completion.object).startswith("chat.completion")
    if usage and is_chat:
        return Failure("empty", "the response contains no choices", again=True, usage=usage)
    start = content[:_MAX_EXCERPT].decode("utf-8", "ignore")  # may contain an error in a provider's own format
    return Failure("protocol", f"the response contains no choices: {start!r}; {_HINT}", again=True, usage=usage)


def _from_error(error: object, usage: dict[str, int] | None = None) -> Failure:
    """Return the failure for an error that a server sent with HTTP status 200."""
    code = str(error.get("code")) if isinstance(error, dict) else ""
    status = int(code) if _STATUS.fullmatch(code) else 500  # some proxies send the status as a string
    failure = from_status(status, msgspec.json.encode({"error": error}).decode())
    failure.usage = usage
    return failure


def _join(content: str | list[Any] | None) -> tuple[str | None, str | None]:
    """Return the text and the reasoning in a message's content, which may be a list of parts."""
    if content is None or isinstance(content, str):
        return content, None
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        fields = part if isinstance(part, dict) else {"text": part}
        if isinstance(fields.get("text"), str):
            is_thought = fields.get("thought") is True or _THOUGHTS.search(str(fields.get("type"))) is not None
            (thoughts if is_thought else texts).append(fields["text"])
        else:
            thoughts.append(_read_thought(fields.get("thinking")) or "")
    return "".join(texts) if texts else None, "".join(thoughts) or None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
