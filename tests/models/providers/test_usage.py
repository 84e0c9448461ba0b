"""Usage objects as the providers document them, and what they cost by a hand calculation."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from ragbed.models.providers.anthropic import parse_message
from ragbed.models.providers.openai import parse_chat
from ragbed.models.providers.usage import read_usage
from ragbed.runs.prices import cost_of, find_price
from ragbed.schema import Completion

_DAY = datetime(2026, 10, 20, 12, tzinfo=UTC)  # the time of the prices below, which are those of genai-prices
_MILLION = Decimal(1_000_000)

# Model, usage object of the provider, what is read, and (tokens, dollars per million) by hand.
DOCUMENTED: list[tuple[str, dict[str, Any], dict[str, int], list[tuple[int, str]]]] = [
    (
        "openai/gpt-4o-mini",
        {
            "prompt_tokens": 2006,
            "completion_tokens": 300,
            "total_tokens": 2306,
            "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "accepted_prediction_tokens": 0},
        },
        {"in": 2006, "out": 300, "cached": 1920},
        [(86, "0.15"), (1920, "0.075"), (300, "0.6")],
    ),
    (
        "openai/gpt-5.6-luna",  # cache writes cost 1.25 times as much as other input
        {
            "prompt_tokens": 9657,
            "completion_tokens": 78,
            "total_tokens": 9735,
            "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 9654},
            "completion_tokens_details": {"reasoning_tokens": 37},
        },
        {"in": 9657, "out": 78, "written": 9654, "reasoning": 37},
        [(3, "0.2"), (9654, "0.25"), (78, "1.2")],
    ),
    (
        "anthropic/claude-sonnet-4-5",
        {
            "input_tokens": 48,
            "cache_read_input_tokens": 2000,
            "cache_creation_input_tokens": 1000,
            "output_tokens": 503,
            "output_tokens_details": {"thinking_tokens": 400},
            "service_tier": "standard",
        },
        {"in": 3048, "out": 503, "reasoning": 400, "cached": 2000, "written": 1000},
        [(48, "3"), (2000, "0.3"), (1000, "3.75"), (503, "15")],
    ),
    (
        "anthropic/claude-sonnet-4-5",
        {
            "input_tokens": 48,
            "cache_read_input_tokens": 2000,
            "cache_creation_input_tokens": 1000,
            "cache_creation": {"ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 600},
            "output_tokens": 503,
        },
        {"in": 3048, "out": 503, "cached": 2000, "written": 1000, "written_1h": 600},
        [(48, "3"), (2000, "0.3"), (400, "3.75"), (600, "6"), (503, "15")],
    ),
    (
        "gemini/gemini-2.5-flash",
        {"prompt_tokens": 1012, "completion_tokens": 120, "total_tokens": 1832},  # 700 thoughts, only in the total
        {"in": 1012, "out": 820, "reasoning": 700},
        [(1012, "0.3"), (820, "2.5")],
    ),
    (
        "deepseek/deepseek-chat",
        {
            "prompt_tokens": 320,
            "completion_tokens": 85,
            "total_tokens": 405,
            "prompt_cache_hit_tokens": 256,
            "prompt_cache_miss_tokens": 64,
        },
        {"in": 320, "out": 85, "cached": 256},
        [(64, "0.27"), (256, "0.07"), (85, "1.1")],
    ),
    (
        "xai/grok-3-mini",
        {
            "prompt_tokens": 41,
            "completion_tokens": 104,
            "total_tokens": 503,
            "prompt_tokens_details": {"cached_tokens": 21},
            "completion_tokens_details": {"reasoning_tokens": 358},
        },
        {"in": 41, "out": 462, "cached": 21, "reasoning": 358},
        [(20, "0.3"), (21, "0.075"), (462, "0.5")],
    ),
]


@pytest.mark.parametrize(("model", "usage", "read", "paid"), DOCUMENTED, ids=[row[0] for row in DOCUMENTED])
def test_documented_usage_costs_what_a_hand_calculation_says(
    model: str, usage: dict[str, Any], read: dict[str, int], paid: list[tuple[int, str]]
) -> None:
    if model.startswith("anthropic/"):
        body = {"content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn", "usage": usage}
        completion = parse_message(json.dumps(body).encode())
    else:
        body = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}
        completion = parse_chat(json.dumps(body).encode())
    assert completion.usage == read
    expected = sum((count * Decimal(price) for count, price in paid), Decimal(0)) / _MILLION
    assert cost_of(completion, find_price(model, _DAY)) == expected


def test_reasoning_tokens_have_several_names() -> None:
    usage = {"input_tokens": 4, "output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 7}}
    assert read_usage(usage) == {"in": 4, "out": 9, "reasoning": 7}
    usage = {"prompt_tokens": 4, "completion_tokens": 9, "completion_tokens_details": {"thinking_tokens": 7}}
    assert read_usage(usage) == {"in": 4, "out": 9, "reasoning": 7}


def test_cached_tokens_of_the_responses_api_are_part_of_the_input() -> None:
    # https://docs.rs/openai-client-base/latest (ResponseUsage)
    usage = {"input_tokens": 100, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 40}}
    assert read_usage(usage) == {"in": 100, "out": 9, "cached": 40}


def test_a_reported_cost_is_exact() -> None:
    usage = {"prompt_tokens": 194, "completion_tokens": 2, "total_tokens": 196, "cost": 3.06e-05}  # OpenRouter
    body = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}
    completion = parse_chat(json.dumps(body).encode())
    assert completion.usage == {"in": 194, "out": 2, "cost": 30_600_000}
    assert cost_of(completion, None) == Decimal("0.0000306")
    assert cost_of(Completion(outcome="ok", reply="x", usage={"in": 1, "out": 1}), None) is None
    assert read_usage({"prompt_tokens": 1, "cost": {"total_cost": 0.005}}) == {"in": 1, "cost": 5_000_000_000}


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        "5",
        {},
        {"prompt_tokens": True, "completion_tokens": -1},
        {"prompt_tokens": 1.5, "cost": "free"},
        {"prompt_tokens": "many", "completion_tokens": "-1", "total_tokens": "1" * 5_000},
        {"prompt_tokens": "nan", "completion_tokens": float("inf"), "input_tokens": "1e999"},
        {"cost": float("nan")},
        {"cost": -1, "prompt_tokens_details": 7},
    ],
)
def test_what_is_not_a_count_is_ignored(usage: object) -> None:
    assert read_usage(usage) is None
