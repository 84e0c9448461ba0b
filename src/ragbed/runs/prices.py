"""Prices of tokens, from a package with a price list that needs no network."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TypeAlias

from ragbed.errors import UsageError

Price: TypeAlias = Callable[[int, int], float]  # dollars for a number of input and output tokens

_LISTED = ("openai", "anthropic")  # providers whose model strings the price list has


def find_price(model: str) -> Price | None:
    """Return the price of a model, or None if it is free or unknown."""
    provider, _, name = model.partition("/")
    if provider not in _LISTED:
        return None
    try:
        from genai_prices import Usage, calc_price  # noqa: PLC0415 - takes half a second to load
    except ImportError:
        return None

    def price(tokens_in: int, tokens_out: int) -> float:
        usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out)
        return float(Decimal(calc_price(usage, model_ref=name, provider_id=provider).total_price))

    try:
        price(1, 1)
    except LookupError:
        return None
    return price


def need_price(model: str) -> Price:
    """Return the price of a model, or raise a UsageError if it is unknown."""
    price = find_price(model)
    if price is None:
        raise UsageError(
            f"`budget`: the price of {model} is unknown. A budget needs openai/… or anthropic/… and the price list: "
            "pip install 'ragbed[prices]'."
        )
    return price
