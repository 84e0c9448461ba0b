"""Costs equal hand calculations, exactly."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from genai_prices.data import providers

from ragbed.errors import UsageError
from ragbed.runs import prices
from ragbed.runs.budget import Budget
from ragbed.runs.prices import _LISTED, cost_of, find_price
from ragbed.schema import Completion, Message, Step

# The time of the prices below, which are those of genai-prices; DeepSeek has others at night.
_DAY = datetime(2026, 10, 20, 12, tzinfo=UTC)
_MILLION = Decimal(1_000_000)

# Model, usage of one call, and dollars by hand: tokens × dollars per million.
RECORDED = [
    (
        "anthropic/claude-sonnet-4-5",
        {"in": 3048, "cached": 2000, "written": 1000, "written_1h": 1000, "out": 503, "batch": 1},
        (48 * Decimal("1.5") + 2000 * Decimal("0.15") + 1000 * Decimal(3) + 503 * Decimal("7.5")) / _MILLION,
    ),
    (
        "gemini/gemini-2.5-flash",
        {"in": 1012, "cached": 500, "out": 820, "reasoning": 700},
        (512 * Decimal("0.3") + 500 * Decimal("0.03") + 820 * Decimal("2.5")) / _MILLION,
    ),
    (
        "azure/gpt-4o-mini",
        {"in": 1117, "cached": 1024, "out": 46},
        (93 * Decimal("0.15") + 1024 * Decimal("0.075") + 46 * Decimal("0.6")) / _MILLION,
    ),
    (
        "azure/gpt-4o-mini",
        {"in": 1117, "cached": 1024, "out": 46, "batch": 1},
        (93 * Decimal("0.075") + 1024 * Decimal("0.0375") + 46 * Decimal("0.3")) / _MILLION,
    ),
    (
        "bedrock/anthropic.claude-3-5-haiku-20241022-v1:0",
        {"in": 1500, "cached": 1000, "out": 200},
        (500 * Decimal("0.8") + 1000 * Decimal("0.08") + 200 * Decimal(4)) / _MILLION,
    ),
]


@pytest.mark.parametrize(
    ("model", "usage", "dollars"), RECORDED, ids=[f"{place}-{row[0]}" for place, row in enumerate(RECORDED)]
)
def test_a_call_costs_what_a_hand_calculation_says(model: str, usage: dict[str, int], dollars: Decimal) -> None:
    price = find_price(model, _DAY)
    assert price is not None
    assert price(usage) == dollars
    assert cost_of(Completion(outcome="ok", reply="x", usage=usage), price) == dollars


def test_each_call_of_a_result_is_priced_and_cached_ones_are_free() -> None:
    price = find_price("openai/gpt-4o-mini", _DAY)
    messages = (Message(role="user", content="?"),)
    steps = tuple(
        Step(messages=messages, reply="x", usage={"in": 100, "out": 10}, cached=cached) for cached in (True, False)
    )
    done = Completion(outcome="ok", reply="x", usage={"in": 200, "out": 20}, steps=steps)
    assert cost_of(done, price) == (100 * Decimal("0.15") + 10 * Decimal("0.6")) / _MILLION


def test_counts_that_contradict_each_other_have_a_price() -> None:
    price = find_price("openai/gpt-4o-mini", _DAY)
    assert price is not None
    assert (
        price({"in": 10, "cached": 500, "out": 5, "reasoning": 50})
        == (10 * Decimal("0.075") + 5 * Decimal("0.6")) / _MILLION
    )
    assert price({}) == 0


@pytest.mark.parametrize(
    "model", ["vllm/Qwen/Qwen2.5-7B", "bundled/smollm2", "openai/no-such-model", "scripted/oracle"]
)
def test_other_models_have_no_price(model: str) -> None:
    assert find_price(model) is None


@pytest.mark.parametrize("is_installed", [True, False])
def test_an_unknown_price_is_explained(is_installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_installed:
        monkeypatch.setitem(sys.modules, "genai_prices", None)
    model = "openai/no-such-model" if is_installed else "openai/gpt-4o-mini"
    with pytest.raises(UsageError, match=r"not on the price list .*ragbed\[prices\].*Set its price"):
        prices.need_price(model)


def test_a_budget_adds_up_without_rounding() -> None:
    budget = Budget(0.3, {"m": lambda _: Decimal("0.1")})
    done = Completion(outcome="ok", reply="x", usage={"in": 1, "out": 1})
    for _ in range(2):
        budget.pay("m", done)
        assert budget.reserve_now(Decimal("0.1"))
        budget.release(Decimal("0.1"))
    budget.pay("m", done)  # 0.1 + 0.1 + 0.1 is 0.3, which floats do not know
    assert not budget.reserve_now(Decimal("0.1"))
    assert budget.spent == Decimal("0.3")


def test_the_price_list_is_loaded_for_all_of_its_providers() -> None:
    ids = [provider.id for provider in providers]
    assert len(ids) > 20
    assert [name for name in ids if not any(part in name for part in _LISTED)] == []


def test_the_price_list_is_not_loaded_for_other_providers() -> None:
    line = "import sys; from ragbed.runs.prices import find_price; print(find_price('openai-api/mine/m'), *sys.modules)"
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("None ")
    assert "genai_prices" not in done.stdout
