"""Cases that take several calls: asked through one after the other, as one result.

Each call goes the way of any other: looked up in the response cache and kept there, an intent before it, counted in the
budget. The case has its result when the last call is answered. A run that is ended in between asks the case again and
finds its earlier calls in the cache; without a cache they count as calls that may have been paid twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from msgspec import structs

from ragbed.schema import Case, Completion, Step
from ragbed.testbeds.prompts.strategies import Flow
from ragbed.text import storable


class Called(NamedTuple):
    """One call that was answered, or failed."""

    completion: Completion
    key: str
    """The address of its request; of several calls, that of the last."""
    cached: bool = False


async def ask_through(flow: Flow, case: Case, call: Callable[[Case], Awaitable[Called]]) -> Called:
    """Asks a case as a remedy wants it; a call that fails is the outcome of the case.

    Args:
        flow: The remedy, at its beginning.
        case: What is asked.
        call: Asks one prompt, given as a case with other messages.
    """
    steps: list[Step] = []
    attempts, messages = 0, next(flow)
    while True:
        done, key, cached = await call(structs.replace(case, messages=messages))
        attempts += done.attempts
        steps.append(
            Step(messages=messages, reply=done.reply, usage=done.usage, latency_s=done.latency_s, cached=cached)
        )
        answer = done.reply
        if done.outcome == "ok":
            try:
                messages = flow.send(storable(done.reply or ""))
            except StopIteration as ended:
                answer = str(ended.value)
            else:
                continue
        whole = structs.replace(
            done,
            reply=answer,
            usage=sum_usage(steps),
            latency_s=_sum_latency(steps),
            attempts=attempts,
            steps=tuple(steps),
        )
        return Called(whole, key, all(step.cached for step in steps))


def calls_made(completion: Completion) -> int:
    """How many calls a result took that no cache had the answer to."""
    return sum(not step.cached for step in completion.steps) if completion.steps else 1


def usage_made(completion: Completion) -> dict[str, int] | None:
    """The tokens of these calls."""
    return sum_usage(step for step in completion.steps if not step.cached) if completion.steps else completion.usage


def sum_usage(steps: Iterable[Step]) -> dict[str, int] | None:
    """The tokens of several calls; None where none tells."""
    told = [step.usage for step in steps if step.usage is not None]
    total = Counter[str]()
    for usage in told:
        total.update(usage)  # which keeps a count of nothing, as a sum of counters would not
    return dict(total) if told else None


def _sum_latency(steps: Iterable[Step]) -> float | None:
    told = [step.latency_s for step in steps if step.latency_s is not None]
    return round(sum(told), 4) if told else None
