"""What a run will take, told from a probe of a few cases before anything else is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ragbed.errors import RagbedError
from ragbed.models.base import Model
from ragbed.runs.multi_call import Called, ask_through
from ragbed.runs.prices import find_price
from ragbed.schema import Case, Completion
from ragbed.testbeds.prompts.strategies import flow_of

PROBES = 5


@dataclass(frozen=True)
class Forecast:
    """What asking one model will take, probe included."""

    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    dollars: float | None
    """None where no price is known or none is paid."""
    minutes: float


async def forecast(model: Model, cases: Sequence[Case], repeats: int) -> Forecast:
    """Asks a few cases spread over the plan and scales up by the length of all prompts.

    Raises:
        RagbedError: No probe brought a reply.
    """
    step = max(1, len(cases) // PROBES)
    probes = cases[::step][:PROBES]
    try:
        replies = await asyncio.gather(*(_complete(model, case) for case in probes))
    finally:
        await model.close()
    pairs = [(case, reply) for case, reply in zip(probes, replies, strict=True) if reply.outcome == "ok"]
    if not pairs:
        raise RagbedError(f"{model.name} answered none of {len(probes)} probes: {replies[0].error or 'refused'}.")
    chars = sum(_chars(case) for case, _ in pairs)
    per_char = sum((reply.usage or {}).get("in", 0) for _, reply in pairs) / chars
    asked = len(cases) * repeats
    calls = round(fmean(max(1, len(reply.steps)) for _, reply in pairs) * asked)
    tokens_in = round(per_char * sum(map(_chars, cases)) * repeats)
    tokens_out = round(fmean((reply.usage or {}).get("out", 0) for _, reply in pairs) * asked)
    price = find_price(model.name)
    return Forecast(
        model=model.name,
        calls=calls,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        dollars=None if price is None else price(tokens_in, tokens_out),
        minutes=fmean(reply.latency_s or 0.0 for _, reply in pairs) * asked / model.concurrency / 60,
    )


async def _complete(model: Model, case: Case) -> Completion:
    async def call(one: Case) -> Called:
        return Called(await model.complete(one), "")

    flow = flow_of(case)
    return (await (call(case) if flow is None else ask_through(flow, case, call))).completion


def _chars(case: Case) -> int:
    return sum(len(message.content) for message in case.messages)
