"""Errors of servers are told apart by their codes (src/ragbed/models/failures.py)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragbed.models.failures import from_status

_RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.2s"}
_PER_DAY = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
}
_PER_MINUTE = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}],
}

_USED_UP = "Could not finish the message because max_tokens or model output limit was reached."


def _gemini(*details: object) -> object:
    message = "You exceeded your current quota, please check your plan and billing details. Please retry in 1.2s."
    return [{"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED", "details": list(details)}}]


def _gemini_request(message: str, *details: object) -> object:
    return [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT", "details": list(details)}}]


def _openai(message: str, code: str | None, type_: str = "invalid_request_error") -> object:
    return {"error": {"message": message, "type": type_, "param": None, "code": code}}


ERRORS: dict[str, tuple[int, Any, str, bool, float | None]] = {
    "Gemini, a minute": (429, _gemini(_PER_MINUTE, _RETRY), "rate", True, 1.2),
    "Gemini, a day": (429, _gemini(_PER_DAY, _RETRY), "quota", False, None),
    "Gemini in the message of a proxy": (
        429, {"error": {"message": json.dumps(_gemini(_RETRY)), "code": 429}}, "rate", True, 1.2
    ),
    # https://github.com/google-gemini/gemini-cli/issues/25198
    "Gemini, a wrong key": (
        400,
        _gemini_request(
            "API key not valid. Please pass a valid API key.",
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
        ),
        "auth", False, None,
    ),
    # https://github.com/google-gemini/gemini-cli/issues/4118
    "Gemini, too long": (
        400,
        _gemini_request("The input token count (33008) exceeds the maximum number of tokens allowed (32768)."),
        "too-long", False, None,
    ),
    "OpenAI, a rate": (429, _openai("Rate limit reached", "rate_limit_exceeded", "requests"), "rate", True, None),
    "Azure, a filter": (
        400,
        {"error": {"message": "The response was filtered", "code": "content_filter",
                   "innererror": {"code": "ResponsibleAIPolicyViolation"}}},
        "filter", False, None,
    ),
    "DashScope, a filter": (
        400, _openai("Output data may contain inappropriate content.", "data_inspection_failed"), "filter", False, None
    ),
    "DashScope, no credit": (400, {"code": "Arrearage", "message": "Access denied"}, "quota", False, None),
    # https://www.alibabacloud.com/help/en/model-studio/rate-limit
    "DashScope, tokens per minute": (
        429,
        _openai("Allocated quota exceeded, please increase your quota limit.", "insufficient_quota"),
        "rate", True, None,
    ),
    "DashScope, no free tokens": (
        403, _openai("The free tier of the model has been exhausted.", "AllocationQuota.FreeTierOnly"),
        "quota", False, None,
    ),
    # https://github.com/deepseek-ai/awesome-deepseek-integration/issues/13
    "DeepSeek, a filter": (400, _openai("Content Exists Risk", "invalid_request_error"), "filter", False, None),
    # https://docs.bigmodel.cn/cn/api/api-code
    "Zhipu, a day": (429, {"error": {"code": "1304", "message": "该 API 已达今日调用次数限额"}}, "quota", False, None),
    "Zhipu, a rate": (429, {"error": {"code": "1302", "message": "您的账户已达到速率限制"}}, "rate", True, None),
    "Zhipu, a filter": (400, {"error": {"code": "1301", "message": "输入可能包含敏感内容"}}, "filter", False, None),
    "Zhipu, no credit": (429, {"error": {"code": "1113", "message": "您的账户已欠费"}}, "quota", False, None),
    "OpenRouter, a filter": (
        403,
        {"error": {"code": 403, "message": "Input flagged", "metadata": {"reasons": ["x"], "flagged_input": "y"}}},
        "filter", False, None,
    ),
    # https://github.com/Gitlawb/openclaude/issues/936
    "OpenRouter, a day": (
        429,
        {"error": {"code": 429, "message": "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock more"}},
        "quota", False, None,
    ),
    "Anthropic, a rate": (429, {"type": "error", "error": {"type": "rate_limit_error"}}, "rate", True, None),
    "Anthropic, overloaded": (529, {"type": "error", "error": {"type": "overloaded_error"}}, "server", True, None),
    # https://github.com/anthropics/claude-code/issues/58367
    "Anthropic, a filter": (
        400,
        {"type": "error", "error": {"type": "invalid_request_error",
                                    "message": "Output blocked by content filtering policy"}},
        "filter", False, None,
    ),
    "Anthropic, too long": (
        400, {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}},
        "too-long", False, None,
    ),
    "vLLM, too long": (
        400, _openai("The decoder prompt (length 5000) is longer than the maximum model length of 4096.", None),
        "too-long", False, None,
    ),
    # https://github.com/BerriAI/litellm/issues/23836
    "OpenAI, a used-up limit": (400, _openai(f"{_USED_UP} Please try again with higher max_tokens.", None), "length",
                                False, None),
    "OpenAI, a limit that is too high": (400, _openai("max_tokens is too large: 16384.", None), "request", False, None),
    "OpenAI, an unknown parameter": (
        400, _openai("Unrecognized request argument supplied: reasoning_effort", None), "settings", False, None
    ),
    "Anthropic, an unknown parameter": (
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "output_config: Extra inputs are not permitted"},
        },
        "settings", False, None,
    ),
    "a word in another error": (400, _openai("Your question mentions content filters and quotas", None), "request",
                                False, None),
    "not JSON": (503, "<html>busy</html>", "server", True, None),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_has_the_kind_of_its_code(name: str) -> None:
    status, body, kind, again, wait_s = ERRORS[name]
    failure = from_status(status, body if isinstance(body, str) else json.dumps(body, ensure_ascii=False))
    assert (failure.kind, failure.again, failure.wait_s) == (kind, again, wait_s)


def test_the_longer_of_two_pauses_counts() -> None:
    body = json.dumps(_gemini(_RETRY))
    assert from_status(429, body, 5.0).wait_s == 5.0
    assert from_status(429, body, 0.1).wait_s == 1.2
