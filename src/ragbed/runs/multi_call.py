"""Handle cases with several calls, which are made one after another and stored as one result.

Each call is treated like any other: it is looked up and stored in the response cache, has an intent, and counts towards
the budget. The case gets its result after the last call. After an interruption, the case is repeated and its earlier
calls are found in the cache; without a cache, they count as calls that may have been billed twice.
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
    """A finished call; `key` is the cache key of its request, or of its last request if there were several."""

    completion: Completion
    key: str
    cached: bool = False


async def make_calls(flow: Flow, case: Case, call: Callable[[Case], Awaitable[Called]]) -> Called:
    """Make a case's calls for a prompting strategy; if a call fails, the failure is the case's outcome.

    Args:
        flow: The generator of the strategy's calls.
        case: The case.
        call: A function that makes one call, given a copy of the case with different messages.
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
        result = structs.replace(
            done,
            reply=answer,
            usage=sum_usage(steps),
            latency_s=sum_latency(steps),
            attempts=attempts,
            steps=tuple(steps),
        )
        return Called(result, key, all(step.cached for step in steps))


def calls_made(completion: Completion) -> int:
    """Return how many of a result's calls were sent to the model rather than answered from the cache."""
    return sum(not step.cached for step in completion.steps) if completion.steps else 1


def usage_made(completion: Completion) -> dict[str, int] | None:
    """Return the total tokens of a result's uncached calls."""
    return sum_usage(step for step in completion.steps if not step.cached) if completion.steps else completion.usage


def usages_made(completion: Completion) -> list[dict[str, int]]:
    """Return the token usage of each call that was not cached, or an empty usage for a call that reports none."""
    calls = [step for step in completion.steps if not step.cached] if completion.steps else [completion]
    return [call.usage or {} for call in calls]


def sum_usage(steps: Iterable[Step | Completion]) -> dict[str, int] | None:
    """Return the total tokens of several calls, or None if none of them reports usage."""
    known = [step.usage for step in steps if step.usage is not None]
    total = Counter[str]()
    for usage in known:
        total.update(usage)  # unlike the + operator, `update` keeps zero counts
    return dict(total) if known else None


def sum_latency(steps: Iterable[Step | Completion]) -> float | None:
    """Return the total latency of several calls, or None if none of them reports it."""
    known = [step.latency_s for step in steps if step.latency_s is not None]
    return round(sum(known), 4) if known else None
