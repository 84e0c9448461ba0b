"""Determine the cost of calls, as reported by the server or computed from the token prices in an offline price list.

The usage of a call counts its tokens: `in` and `out`; `cached` and `written`, the parts of `in` that were read from or
written to the provider's prompt cache; `written_1h`, the part of `written` that is cached for an hour; and
`reasoning`, a part of `out`. `cost` is the cost reported by the server, in units of 10⁻¹² dollars. `batch` is 1 for a
call in a provider batch. All amounts are exact decimals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

from ragbed.errors import UsageError, option
from ragbed.schema import Completion

TokenUsage: TypeAlias = Mapping[str, int]
Price: TypeAlias = Callable[[TokenUsage], Decimal]  # computes the price of one call's usage in dollars

COST_UNIT = Decimal("1e-12")  # the unit of reported costs, in dollars
# Providers whose name in the price list differs from their name in model strings.
_LISTED_AS = {"gemini": "google", "bedrock": "aws", "xai": "x-ai", "moonshot": "moonshotai", "zhipu": "zhipuai"}
# Substrings of the provider names in the price list, hard-coded because loading the list takes half a second.
_LISTED = (
    *("amazon", "anthropic", "arcee", "avian", "aws", "azure", "baseten", "bedrock", "cerebras", "cloudflare"),
    *("cohere", "copilot", "cursor", "databricks", "deepseek", "doubleword", "elevenlabs", "fireworks"),
    *("gemini", "google", "groq", "huggingface", "meta", "minimax", "mistral", "modal", "moonshot", "novita"),
    *("openai", "openrouter", "ovhcloud", "perplexity", "quicksilver", "together", "typesafe", "vertex"),
    *("voyage", "x-ai", "xai", "zai", "zhipu"),
)
# Providers with half-price batches; the price list may omit batch prices.
_HALVED = ("openai", "azure", "anthropic", "groq")
_TOKENS = {
    "in": "input_tokens",
    "cached": "cache_read_tokens",
    "written": "cache_write_tokens",
    "written_1h": "cache_write_1h_tokens",
    "out": "output_tokens",
    "reasoning": "output_reasoning_tokens",
}


def find_price(model: str, at: datetime | None = None) -> Price | None:
    """Return a model's price from the price list, or None if the model is free or its price is unknown.

    Args:
        model: The model string.
        at: The time of the calls, or None for the current time.
    """
    provider, _, name = model.removeprefix("openai-api/").partition("/")
    if not any(part in provider.lower() for part in _LISTED):
        return None
    try:
        from genai_prices import Usage, calc_price  # noqa: PLC0415 - takes half a second to load
    except ImportError:
        return None

    def listed(counts: TokenUsage, context: dict[str, str] | None) -> Decimal:
        return calc_price(
            Usage(**{_TOKENS[key]: count for key, count in counts.items()}),
            model_ref=name,
            provider_id=_LISTED_AS.get(provider, provider),
            genai_request_timestamp=at,
            price_context=context,
        ).total_price

    def price(usage: TokenUsage) -> Decimal:
        counts = _consistent(usage)
        full = listed(counts, None)
        if not usage.get("batch"):
            return full
        batched = listed(counts, {"processing": "batch"})
        return full / 2 if batched == full and provider in _HALVED else batched

    try:
        price({"in": 1, "out": 1})
    except LookupError:
        return None
    return price


def _consistent(usage: TokenUsage) -> dict[str, int]:
    """Return a call's token usage, with each partial count capped at its total."""
    whole = {"cached": "in", "written": "in", "written_1h": "written", "reasoning": "out"}
    counts = {key: min(count, usage.get(whole.get(key, key), 0)) for key, count in usage.items() if key in _TOKENS}
    if counts.get("cached", 0) + counts.get("written", 0) > counts.get("in", 0):
        for key in ("written", "written_1h"):
            counts.pop(key, None)
    return counts


def need_price(model: str, own: str | None = None) -> Price:
    """Return a model's price, which is the user's own price if one is given.

    Raises:
        UsageError: The price is unknown.
    """
    price = find_price(model) if own is None else own_price(own)
    if price is None:
        raise UsageError(
            f"{option('budget')}: the price of {model} is unknown, because the model is not on the price list (pip "
            "install 'ragbed[prices]'). Set its price in dollars per million input and output tokens, e.g. "
            f"{option('price', '0.15,0.6')} (or {option('price', '0,0')} if it is free), or omit {option('budget')}."
        )
    return price


def own_price(amounts: str) -> Price:
    """Return the price for the user's own `IN,OUT` in dollars per million tokens; the details of usage do not matter.

    Raises:
        UsageError: The text does not have this form.
    """
    try:
        dollars_in, dollars_out = map(Decimal, amounts.split(","))
        is_valid = min(dollars_in, dollars_out) >= 0 and (dollars_in + dollars_out).is_finite()
    except (ValueError, InvalidOperation):
        is_valid = False
    if not is_valid:
        raise UsageError(
            f"{option('price', repr(amounts))} does not have the form IN,OUT, e.g. 0.15,0.6, in dollars per million "
            "input and output tokens."
        )
    return lambda usage: (usage.get("in", 0) * dollars_in + usage.get("out", 0) * dollars_out) / 1_000_000


def read_own_prices(given: Iterable[str], models: Iterable[str]) -> dict[str, str]:
    """Return the user's own prices, given as `IN,OUT` for all models or `MODEL=IN,OUT`, by model string.

    Raises:
        UsageError: A price does not have this form.
    """
    prices = {model: amounts for model, _, amounts in (text.rpartition("=") for text in given)}
    for amounts in prices.values():
        own_price(amounts)
    found = {model: prices.get(model, prices.get("")) for model in models}
    return {model: amounts for model, amounts in found.items() if amounts is not None}


def usages_made(completion: Completion) -> list[dict[str, int]]:
    """Return the token usage of each call that was not cached, or an empty usage for a call that reports none."""
    calls = [step for step in completion.steps if not step.cached] if completion.steps else [completion]
    return [call.usage or {} for call in calls]


def cost_of(completion: Completion, price: Price | None) -> Decimal | None:
    """Return the cost of a result's uncached calls, or None if the cost is unknown.

    Each call is priced separately, because prices may depend on the prompt length.
    """
    return usage_cost(usages_made(completion), price)


def usage_cost(usages: Sequence[TokenUsage], price: Price | None) -> Decimal | None:
    """Return the cost of calls with the given token usage, or None if it is unknown."""
    if price is None and not all("cost" in usage for usage in usages):
        return None
    return sum((_cost(usage, price) for usage in usages), Decimal(0))


def _cost(usage: TokenUsage, price: Price | None) -> Decimal:
    if "cost" in usage:
        return usage["cost"] * COST_UNIT
    return Decimal(0) if price is None else price(usage)
