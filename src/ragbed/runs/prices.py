"""What tokens cost, by a price list that ships with a package and needs no network."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TypeAlias

from ragbed.errors import UsageError

Price: TypeAlias = Callable[[int, int], float]
"""Dollars for so many tokens in and out."""

_LISTED = ("openai", "anthropic")
"""Providers whose model strings the price list knows; others run on one's own machine or at one's own price."""


def find_price(model: str) -> Price | None:
    """The price of a model, or None if there is none to pay or none is known."""
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
    """The price of a model where a budget hangs on it."""
    price = find_price(model)
    if price is None:
        raise UsageError(
            f"--budget: no price is known for {model}; a budget needs openai/… or anthropic/… and the price list: "
            "pip install 'ragbed[prices]'."
        )
    return price
