"""Errors of servers are told apart by their codes (src/ragbed/models/failures.py).

Each error has its source: the server's documentation, or an issue on GitHub that quotes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ragbed.models import failures
from ragbed.models.failures import from_status

_GEMINI, _OPENROUTER = "https://ai.google.dev/gemini-api/docs/rate-limits", "https://openrouter.ai/docs/errors"
_ALIBABA, _ZHIPU = "https://help.aliyun.com/en/model-studio/error-code", "https://docs.bigmodel.cn/cn/api/api-code"
_AZURE = "https://learn.microsoft.com/en-us/azure/ai-services/openai/concepts/content-filter"
_PYDANTIC = "https://docs.pydantic.dev/latest/errors/validation_errors/#extra_forbidden"


def _gemini(message: str, *details: object) -> object:
    return [{"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED", "details": list(details)}}]


def _quota(quota: str) -> object:
    violation = {"quotaId": f"GenerateRequests{quota}PerProjectPerModel-FreeTier"}
    details = {"@type": "google.rpc.QuotaFailure", "violations": [violation]}, {"retryDelay": "1.2s"}
    return _gemini("You exceeded your current quota. Please retry in 1.2s.", *details)


def _error(message: str, code: str | int | None = None, kind: str = "invalid_request_error") -> object:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


# The kind, the status, the source and the body of each error.
ERRORS: list[tuple[str, int, str, Any]] = [
    # Gemini
    ("rate", 429, _GEMINI, _quota("PerMinute")),
    ("quota", 429, _GEMINI, _quota("PerDay")),
    ("rate", 429, "google-gemini/gemini-cli/issues/1609", _error(json.dumps(_gemini("Resource exhausted")), 429)),
    ("auth", 400, "google-gemini/gemini-cli/issues/25198", _gemini("No key", {"reason": "API_KEY_INVALID"})),
    ("too-long", 400, "google-gemini/gemini-cli/issues/4118",
     _gemini("The input token count (33008) exceeds the maximum number of tokens allowed (32768).")),
    # OpenAI and Azure
    ("quota", 429, "chatanywhere/GPT_API_free/issues/229", _error("Check your plan.", "insufficient_quota")),
    ("too-long", 429, "DrShushen/climb/issues/13",
     _error("Request too large for gpt-4o on tokens per min (TPM): Limit 30000", "rate_limit_exceeded", "tokens")),
    ("filter", 400, "alan-turing-institute/t0-1/issues/69",
     _error("Invalid prompt: your prompt was flagged as potentially violating our usage policy.", "invalid_prompt")),
    ("filter", 400, _AZURE, _error("The response was filtered", "content_filter")),
    ("quota", 400, "bajrangCoder/acode-plugin-chatgpt/issues/19",
     _error("Billing hard limit has been reached", "billing_hard_limit_reached")),
    ("missing", 403, "cursor/cursor/issues/2953", _error("Project `p` does not have access", "model_not_found")),
    ("request", 400, "deepseek-ai/DeepSeek-V3/issues/69", _error("the valid range of max_tokens is [1, 8192]")),
    ("length", 400, "BerriAI/litellm/issues/23836",
     _error("Could not finish the message because max_tokens or model output limit was reached.")),
    ("settings", 400, "openai/openai-python/issues/1724",
     _error("Unrecognized request argument supplied: max_completion_tokens")),
    ("settings", 400, "owndev/Open-WebUI-Functions/issues/136", _error("'max_tokens'", "unsupported_parameter")),
    ("settings", 400, "teabranch/open-responses-server/issues/41", _error("'reasoning'", "unknown_parameter")),
    ("settings", 400, "Azure/agentops/issues/151", _error("'temperature' does not support 0.0", "unsupported_value")),
    # Anthropic
    ("filter", 400, "anthropics/claude-code/issues/58367", _error("Output blocked by content filtering policy")),
    ("too-long", 400, "anthropics/claude-code/issues/12186", _error("prompt is too long: 208310 tokens > 200000")),
    ("quota", 400, "anthropics/claude-code/issues/66314", _error("Your credit balance is too low")),
    ("quota", 400, "anthropics/claude-code/issues/38035",
     _error("You have reached your specified API usage limits. You will regain access on 2026-04-01.")),
    ("settings", 400, "amrit110/oli/issues/7", _error("response_format: Extra inputs are not permitted")),
    # DashScope and other providers in China
    ("filter", 400, _ALIBABA, _error("Output data may contain inappropriate content.", "data_inspection_failed")),
    ("quota", 400, _ALIBABA, {"code": "Arrearage", "message": "Access denied"}),
    ("quota", 403, _ALIBABA, _error("The free tier has been exhausted.", "AllocationQuota.FreeTierOnly")),
    ("rate", 429, "https://www.alibabacloud.com/help/en/model-studio/rate-limit",
     _error("Allocated quota exceeded, please increase your quota limit.", "insufficient_quota")),
    ("too-long", 400, "agentscope-ai/QwenPaw/issues/6255", _error("Range of input length should be [1, 983616]")),
    ("filter", 400, "deepseek-ai/awesome-deepseek-integration/issues/13", _error("Content Exists Risk")),
    ("missing", 400, "ConardLi/easy-dataset/issues/9", _error("Model Not Exist", "invalid_request_error")),
    ("filter", 400, _ZHIPU, _error("API 调用被策略阻止", "1301")),
    ("rate", 429, _ZHIPU, _error("您的账户已达到速率限制", "1302")),
    *(("quota", 429, _ZHIPU, _error("使用上限", code)) for code in ("1113", "1304", "1308", "1309", "1310")),
    ("missing", 400, _ZHIPU, _error("模型不存在，请检查模型代码", "1211")),
    ("too-long", 400, _ZHIPU, _error("Prompt 超长", "1261")),
    ("too-long", 400, "chatboxai/chatbox/issues/2060",
     {"code": 20015, "message": "length of prompt_tokens (68957) must be less than max_seq_len (65536)."}),
    ("missing", 400, "ErlichLiu/DeepClaude/issues/111", {"code": 20012, "message": "Model does not exist."}),
    ("too-long", 400, "multica-ai/multica/issues/4130",
     _error("Invalid request: Your request exceeded model token limit: 262144 (requested: 275363)")),
    ("quota", 403, "MoonshotAI/Kimi-K2/issues/5", _error("Not active", kind="exceeded_current_quota_error")),
    # OpenRouter and other providers
    ("filter", 403, _OPENROUTER, _error("Your chosen model requires moderation and your input was flagged", 403)),
    ("filter", 500, _OPENROUTER, _error("An error inside a response", "content_filter")),
    ("quota", 403, "gptme/gptme/issues/1449", _error("Key limit exceeded (monthly limit).", 403)),
    ("quota", 429, "Gitlawb/openclaude/issues/936", _error("Rate limit exceeded: free-models-per-day.", 429)),
    ("too-long", 400, "thepersonalaicompany/amurex-backend/issues/51",
     _error("Please reduce the length of the messages or completion.", "context_length_exceeded")),
    ("missing", 400, "github/gh-models/issues/65", _error("Unknown model: deepseek/deepseek-v3", "unknown_model")),
    ("auth", 400, "continuedev/continue/issues/10778", {"error": "Incorrect API key provided: na***ys."}),
    ("too-long", 400, "cline/cline/issues/3120",
     {"error": "This model's maximum prompt length is 131072 but the request contains 136973 tokens."}),
    ("filter", 403, "xai-org/grok-build", _error("Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE")),
    ("quota", 429, "continuedev/continue/issues/10373", {"error": "Your team has either used all available credits"}),
    ("quota", 403, "griptape-ai/griptape-nodes-engine/issues/1079",
     {"code": "No permission", "error": "Your newly created teams doesn't have any credits yet."}),
    # Servers on the user's own machines
    ("too-long", 400, "ogx-ai/ogx/issues/4534", _error("This model's maximum context length is 4096 tokens.")),
    ("too-long", 400, "OpenBMB/MiniCPM-V/issues/1048",
     _error("The decoder prompt (length 5000) is longer than the maximum model length of 4096.")),
    ("too-long", 500, "ggml-org/llama.cpp/issues/19774", _error("Context size has been exceeded.", 500)),
    ("too-long", 422, "huggingface/text-generation-inference/issues/628",
     {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048."}),
    ("too-long", 422, "h2oai/h2ogpt/issues/373", {"error": "`inputs` must have less than 2048 tokens. Given: 2222"}),
    ("settings", 422, _PYDANTIC, {"detail": [{"type": "extra_forbidden", "loc": ["body", "top_p"]}]}),
]  # fmt: skip


def _kinds() -> list[str]:
    return [from_status(status, json.dumps(body, ensure_ascii=False)).kind for _, status, _, body in ERRORS]


def test_each_error_has_the_kind_of_its_code_or_its_words() -> None:
    assert _kinds() == [kind for kind, *_ in ERRORS]


def _without_one() -> Iterator[tuple[object, dict[str, object]]]:
    """Yield each code, phrase and status of the tables, and the tables without it."""
    codes, rows, statuses = failures._BY_CODE, failures._BY_WORDS, failures._AMBIGUOUS
    yield failures._PER_MINUTE, {"_PER_MINUTE": "no error contains this text"}
    for code in frozenset[str]().union(*codes.values()):
        yield code, {"_BY_CODE": {kind: known - {code} for kind, known in codes.items()}}
    for status in statuses:
        yield status, {"_AMBIGUOUS": statuses - {status}}
    for at, (kind, of, phrases) in enumerate(rows):
        fewer = [(kind, of, tuple(one for one in phrases if one != phrase)) for phrase in phrases]
        fewer += [(kind, of - {status}, phrases) for status in of]
        for row, what in zip(fewer, (*phrases, *of), strict=True):
            yield (kind, what), {"_BY_WORDS": (*rows[:at], row, *rows[at + 1 :])}


def test_each_code_phrase_and_status_decides_an_error_with_a_source(monkeypatch: pytest.MonkeyPatch) -> None:
    unneeded = []
    for what, tables in _without_one():
        with monkeypatch.context() as changed:
            for name, table in tables.items():
                changed.setattr(failures, name, table)
            if _kinds() == [kind for kind, *_ in ERRORS]:
                unneeded.append(what)
    assert unneeded == []


def test_only_temporary_errors_are_retried_and_the_longer_of_two_pauses_counts() -> None:
    body = json.dumps(_quota("PerMinute"))
    temporary, final = from_status(429, body, 0.1), from_status(429, json.dumps(_quota("PerDay")))
    assert (temporary.again, temporary.wait_s, from_status(429, body, 5.0).wait_s) == (True, 1.2, 5.0)
    assert (final.again, final.wait_s) == (False, None)
