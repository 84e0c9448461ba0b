"""Forecast the calls, tokens, cost and time of a run from a few of its cases."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import fmean

from ragbed.errors import RagbedError
from ragbed.models.base import Model
from ragbed.runs.circuit_breaker import CircuitBreaker, CircuitOpen
from ragbed.runs.prices import find_price, own_price, usage_cost, usages_made
from ragbed.runs.store import Called
from ragbed.runs.turns import EpisodeFactory, make_calls, plan_calls
from ragbed.schema import Case, Completion

PROBES = 5


@dataclass(frozen=True)
class Forecast:
    """The forecast for one model's run. The probe calls are additional, because their responses are not stored."""

    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    dollars: float | None  # None if the price is unknown or the model is free
    minutes: float
    truncated: int = 0  # number of probe cases whose responses were truncated
    empty: int = 0  # number of probe cases whose responses are empty
    answered: int = 0  # number of probe cases with a response


async def forecast(
    model: Model,
    cases: Sequence[Case],
    repeats: int,
    *,
    batch: bool = False,
    episodes: EpisodeFactory | None = None,
    own: str | None = None,
) -> Forecast:
    """Call the model with a few cases, and extrapolate to all cases by prompt length.

    The cases are spread evenly over each prompting strategy's prompt lengths. Taking every nth case of the plan could
    select only one condition, because the conditions alternate.

    Args:
        model: The model.
        cases: The cases of the run.
        repeats: The number of responses per case.
        batch: Whether the run uses provider batches, which are priced differently.
        episodes: Starts the episodes of the `search` testbed.
        own: The user's own price as `IN,OUT`, or None for that of the price list.

    Raises:
        RagbedError: The model did not respond to any of these cases.
    """
    if not cases:
        await model.close()
        return Forecast(model.name, calls=0, tokens_in=0, tokens_out=0, dollars=None, minutes=0.0)
    by_length = sorted(cases, key=lambda case: (case.profile, _chars(case)))
    count = min(PROBES, len(cases))
    probes = [by_length[(2 * index + 1) * len(cases) // (2 * count)] for index in range(count)]
    # Models that are called over HTTP limit their connections themselves.
    free = asyncio.Semaphore(PROBES if getattr(model, "meters_requests", False) else model.concurrency)

    async def call(request: Case) -> Called:
        return Called(await model.complete(request), "")

    async def probe(case: Case) -> Completion:
        async with free:
            return (await make_calls(await plan_calls(case, model, episodes), call)).completion

    try:
        replies = await asyncio.gather(*map(probe, probes))
    finally:
        await model.close()
    pairs = [(case, reply) for case, reply in zip(probes, replies, strict=True) if reply.usage or reply.outcome == "ok"]
    if not pairs:
        reason, _, trace = (replies[0].error or replies[0].outcome).partition("\n")
        breaker = CircuitBreaker(model.name, model.advice)
        for reply in replies:
            with suppress(CircuitOpen):
                breaker.learn(reply)
        failed = f"{model.name} did not answer any of the {len(probes)} probe cases: {reason}."
        error = RagbedError(f"{failed} {breaker.fix}".rstrip())
        if trace:  # the traceback of an exception in the caller's function
            error.add_note(trace)
        raise error
    per_char = sum((reply.usage or {}).get("in", 0) for _, reply in pairs) / sum(_chars(case) for case, _ in pairs)
    trials = len(cases) * repeats
    chars = sum(map(_chars, cases)) * repeats
    calls = round(fmean(max(1, len(reply.steps)) for _, reply in pairs) * trials)
    tokens_in = round(per_char * chars)
    tokens_out = round(fmean((reply.usage or {}).get("out", 0) for _, reply in pairs) * trials)
    seconds = fmean(reply.latency_s or 0.0 for _, reply in pairs) * trials / model.concurrency
    if (least_s := getattr(model, "least_s", None)) is not None and not batch:
        seconds = max(seconds, least_s(calls))
    price = find_price(model.name) if own is None else own_price(own)
    usages = [usage | ({"batch": 1} if batch else {}) for _, reply in pairs for usage in usages_made(reply)]
    cost = usage_cost(usages, price)
    return Forecast(
        model=model.name,
        calls=calls,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        dollars=None if cost is None else float(cost) / len(pairs) * trials,
        minutes=seconds / 60,
        truncated=sum(reply.outcome == "truncated" for reply in replies),
        empty=sum(reply.outcome == "ok" and not (reply.reply or "").strip() for reply in replies),
        answered=sum(reply.outcome in ("ok", "truncated") for reply in replies),
    )


def _chars(case: Case) -> int:
    return sum(len(message.content) for message in case.messages)
