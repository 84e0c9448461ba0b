"""Responses of model servers in the dialects of their providers, as their documentation shows them.

`respond` returns what the server of a dialect answers to a request. The model thinks that the answer is Paris, in the
form of a drafted question, and answers what a function of the test returns. Each dialect names its source.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

THOUGHT = """The documents say it, so the answer is Paris.
Question: Which city is the capital of France?
Key information: Paris"""
TOKENS = {"in": 700, "out": 812, "reasoning": 800, "cached": 64}
"""Tokens of every complete response; dialects without a count of thoughts or cached tokens leave it out."""
NEEDED = 1_000
"""Tokens that a thinking server needs for the thought and the answer."""

Body: TypeAlias = Mapping[str, Any]
Response: TypeAlias = tuple[int, object]


@dataclass(frozen=True)
class Dialect:
    """A dialect: its source, its provider, what it rejects and how it formats a response."""

    source: str
    provider: str
    complete: Callable[[Body, str], object]
    reject: Callable[[Body], Response | None] = lambda _body: None
    counts: tuple[str, ...] = ("in", "out", "reasoning", "cached")


def respond(name: str, body: Body, answer: str) -> Response:
    """Return the status and the body of the response of a dialect."""
    dialect = DIALECTS[name]
    rejected = dialect.reject(body)
    return rejected if rejected is not None else (200, dialect.complete(body, answer))


def usage_of(name: str) -> dict[str, int]:
    """Return the tokens that a dialect reports for one response."""
    return {count: TOKENS[count] for count in DIALECTS[name].counts}


def _usage(**details: object) -> dict[str, object]:
    return {"prompt_tokens": TOKENS["in"], "completion_tokens": TOKENS["out"], "total_tokens": 1512, **details}


_DETAILS = {
    "completion_tokens_details": {"reasoning_tokens": TOKENS["reasoning"]},
    "prompt_tokens_details": {"cached_tokens": TOKENS["cached"]},
}


def _chat(message: object, finish: str = "stop", usage: object = None, **top: object) -> dict[str, object]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage or _usage(**_DETAILS),
        **top,
    }


def _plain(_body: Body, answer: str) -> object:
    return _chat({"role": "assistant", "content": answer}, system_fingerprint="fp_1")


def _reasoning_content(_body: Body, answer: str) -> object:
    return _chat({"role": "assistant", "content": answer, "reasoning_content": THOUGHT})


def _deepseek(_body: Body, answer: str) -> object:
    cached = {"prompt_cache_hit_tokens": TOKENS["cached"], "prompt_cache_miss_tokens": 636}
    usage = _usage(completion_tokens_details={"reasoning_tokens": TOKENS["reasoning"]}, **cached)
    return _chat({"role": "assistant", "content": answer, "reasoning_content": THOUGHT}, usage=usage)


def _reasoning(_body: Body, answer: str) -> object:
    return _chat({"role": "assistant", "content": answer, "reasoning": THOUGHT}, usage=_usage())


def _openrouter(_body: Body, answer: str) -> object:
    done = _chat({"role": "assistant", "content": answer, "reasoning": THOUGHT}, provider="Somebody")
    return done | {"choices": [done["choices"][0] | {"native_finish_reason": "stop"}]}  # type: ignore[index]


def _openrouter_error(_body: Body, _answer: str) -> object:
    error = {"code": 502, "message": "Provider returned error", "metadata": {"provider_name": "Somebody"}}
    choice = {"finish_reason": "error", "native_finish_reason": "error", "error": error}
    return _chat({}) | {"choices": [choice | {"message": {"role": "assistant", "content": ""}}]}


def _parts(_body: Body, answer: str) -> object:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}
    return _chat({"role": "assistant", "content": [thought, {"type": "text", "text": answer}]}, usage=_usage())


def _inline(form: str) -> Callable[[Body, str], object]:
    def complete(_body: Body, answer: str) -> object:
        return _chat({"role": "assistant", "content": form.format(THOUGHT, answer)}, usage=_usage())

    return complete


def _stream(_body: Body, answer: str) -> object:
    deltas: list[dict[str, object]] = [{"role": "assistant", "content": None, "reasoning_content": ""}]
    deltas += [{"reasoning_content": word, "content": None} for word in (THOUGHT[:20], THOUGHT[20:])]
    deltas += [{"content": answer[:3]}, {"content": answer[3:]}]
    events: list[dict[str, object]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    events.append({"choices": [], "usage": _usage(**_DETAILS)})
    common = {"id": "chatcmpl-1", "model": "served-1", "object": "chat.completion.chunk"}
    return "".join(f"data: {json.dumps(common | event)}\n\n" for event in events).encode() + b"data: [DONE]\n\n"


def _anthropic(_body: Body, answer: str) -> object:
    usage = {"input_tokens": 636, "cache_read_input_tokens": 64, "cache_creation_input_tokens": 0, "output_tokens": 812}
    content = [{"type": "thinking", "thinking": THOUGHT, "signature": "x"}, {"type": "text", "text": answer}]
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "served-1"}
    return head | {"content": content, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}


def _hidden_thought(body: Body, answer: str) -> object:
    """The thought has a field of its own and uses up the limit."""
    if body["max_tokens"] < NEEDED:
        usage = _usage(**_DETAILS) | {"completion_tokens": body["max_tokens"]}
        return _chat({"role": "assistant", "content": "", "reasoning_content": THOUGHT}, "length", usage)
    return _reasoning_content(body, answer)


def _counted_thought(body: Body, answer: str) -> object:
    """The thought has no text, only a number of tokens."""
    if body["max_tokens"] < NEEDED:
        usage = {"completion_tokens": body["max_tokens"]}
        usage |= {"completion_tokens_details": {"reasoning_tokens": body["max_tokens"]}}
        return _chat({"role": "assistant", "content": ""}, "length", _usage() | usage)
    return _plain(body, answer)


def _open_thought(body: Body, answer: str) -> object:
    """The opening tag is in the prompt, and the thought ends after the limit."""
    if body["max_tokens"] < NEEDED:
        usage = _usage() | {"completion_tokens": body["max_tokens"]}
        return _chat({"role": "assistant", "content": THOUGHT}, "length", usage)
    return _chat({"role": "assistant", "content": f"{THOUGHT}\n</think>\n\n{answer}"}, usage=_usage())


def _openai_error(param: str, code: str, message: str) -> Response:
    return 400, {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def _reject_openai(body: Body) -> Response | None:
    if "max_tokens" in body:
        message = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        return _openai_error("max_tokens", "unsupported_parameter", message)
    if body.get("temperature", 1) != 1:
        message = "Unsupported value: 'temperature' does not support 0.0 with this model. "
        message += "Only the default (1) value is supported."
        return _openai_error("temperature", "unsupported_value", message)
    return None


def _reject_anthropic(body: Body) -> Response | None:
    if "temperature" not in body:
        return None
    error = {"type": "invalid_request_error", "message": "`temperature` is deprecated for this model."}
    return 400, {"type": "error", "error": error, "request_id": "req_1"}


def _reject_dashscope(body: Body) -> Response | None:
    if body.get("stream") or body.get("enable_thinking") is False:
        return None
    message = "parameter.enable_thinking must be set to false for non-streaming calls"
    error = {"code": "invalid_parameter_error", "param": None, "message": message, "type": "invalid_request_error"}
    return 400, {"error": error, "id": "chatcmpl-2", "request_id": "2"}


def _reject_groq(body: Body) -> Response | None:
    if body.get("response_format", {}).get("type") != "json_schema":
        return None
    message = "This model does not support response format `json_schema`. See supported models."
    return 400, {"error": {"message": message, "type": "invalid_request_error", "param": "response_format"}}


_NO_COUNTS = ("in", "out")
DIALECTS: dict[str, Dialect] = {
    "openai": Dialect(
        "https://github.com/Azure/agentops/issues/151",
        "openai-api/t", _plain, _reject_openai,
    ),
    "anthropic": Dialect(
        "https://github.com/Mixpeal/anthropic-sdk/issues/11",
        "anthropic", _anthropic, _reject_anthropic, ("in", "out", "cached"),
    ),
    "gemini": Dialect(
        "https://ai.google.dev/gemini-api/docs/openai",
        "gemini", _plain,
    ),
    "deepseek": Dialect(
        "https://api-docs.deepseek.com/guides/thinking_mode",
        "deepseek", _deepseek,
    ),
    "dashscope": Dialect(
        "https://github.com/datawhalechina/hello-agents/issues/230",
        "dashscope", _stream, _reject_dashscope,
    ),
    "mistral": Dialect(
        "https://docs.mistral.ai/capabilities/reasoning",
        "mistral", _parts, counts=_NO_COUNTS,
    ),
    "openrouter": Dialect(
        "https://openrouter.ai/docs/api/reference/errors-and-debugging",
        "openrouter", _openrouter,
    ),
    "groq": Dialect(
        "https://console.groq.com/docs/reasoning",
        "groq", _inline("<think>\n{}\n</think>\n\n{}"), _reject_groq, _NO_COUNTS,
    ),
    "bedrock": Dialect(
        "https://github.com/browseros-ai/BrowserOS/issues/167",
        "bedrock", _inline("<reasoning>{}</reasoning>{}"), counts=_NO_COUNTS,
    ),
    "vllm": Dialect(
        "https://docs.vllm.ai/en/latest/features/reasoning_outputs",
        "vllm", _reasoning, counts=_NO_COUNTS,
    ),
    "sglang": Dialect(
        "https://docs.sglang.io/docs/advanced_features/separate_reasoning",
        "sglang", _inline("{}</think>{}"), counts=_NO_COUNTS,
    ),
    "lmstudio": Dialect(
        "https://github.com/openai/harmony",
        "lmstudio",
        _inline("<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>{}"),
        counts=_NO_COUNTS,
    ),
}  # fmt: skip
THINKING: dict[str, Dialect] = {
    "a thought in a field": Dialect(
        "https://api-docs.deepseek.com/guides/thinking_mode",
        "openai-api/t", _hidden_thought,
    ),
    "a hidden thought": Dialect(
        "https://docs.apiyi.com/en/faq/reasoning-model-empty-response",
        "openai-api/t", _counted_thought,
    ),
    "an opening tag in the prompt": Dialect(
        "https://docs.sglang.io/docs/advanced_features/separate_reasoning",
        "openai-api/t", _open_thought,
    ),
}  # fmt: skip
FAILING: dict[str, Dialect] = {
    "openrouter-error": Dialect(
        "https://openrouter.ai/docs/api/reference/errors-and-debugging",
        "openrouter", _openrouter_error,
    ),
}  # fmt: skip
DIALECTS |= THINKING | FAILING
