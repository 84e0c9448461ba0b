"""Forecast calls, tokens, cost and time of a run from a few of its cases."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ragbed.errors import RagbedError
from ragbed.models.base import Model
from ragbed.runs.multi_call import Called, make_calls
from ragbed.runs.prices import find_price
from ragbed.schema import Case, Completion
from ragbed.testbeds.prompts.strategies import flow_of

PROBES = 5


@dataclass(frozen=True)
class Forecast:
    """The forecast for one model, including the probes."""

    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    dollars: float | None  # None if the price is unknown or the model is free
    minutes: float
    truncated: int = 0  # probes whose responses were truncated


async def forecast(model: Model, cases: Sequence[Case], repeats: int) -> Forecast:
    """Call the model for a few cases from all parts of the plan and extrapolate by the length of all prompts.

    Raises:
        RagbedError: The model responded to none of them.
    """
    step = max(1, len(cases) // PROBES)
    probes = cases[::step][:PROBES]
    try:
        replies = await asyncio.gather(*(_complete(model, case) for case in probes))
    finally:
        await model.close()
    pairs = [(case, reply) for case, reply in zip(probes, replies, strict=True) if reply.usage or reply.outcome == "ok"]
    if not pairs:
        reason = replies[0].error or replies[0].outcome
        raise RagbedError(f"{model.name} answered none of {len(probes)} probes: {reason}.")
    per_char = sum((reply.usage or {}).get("in", 0) for _, reply in pairs) / sum(_chars(case) for case, _ in pairs)
    trials = len(cases) * repeats
    tokens_in = round(per_char * sum(map(_chars, cases)) * repeats)
    tokens_out = round(fmean((reply.usage or {}).get("out", 0) for _, reply in pairs) * trials)
    price = find_price(model.name)
    return Forecast(
        model=model.name,
        calls=round(fmean(max(1, len(reply.steps)) for _, reply in pairs) * trials),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        dollars=None if price is None else price(tokens_in, tokens_out),
        minutes=fmean(reply.latency_s or 0.0 for _, reply in pairs) * trials / model.concurrency / 60,
        truncated=sum(reply.outcome == "truncated" for reply in replies),
    )


async def _complete(model: Model, case: Case) -> Completion:
    async def call(step: Case) -> Called:
        return Called(await model.complete(step), "")

    flow = flow_of(case)
    return (await (call(case) if flow is None else make_calls(flow, case, call))).completion


def _chars(case: Case) -> int:
    return sum(len(message.content) for message in case.messages)
