"""Make the calls of a case: one, or several for a prompting strategy or an episode of the `search` testbed.

A generator yields the requests of a case and receives their responses; it makes no calls itself. Each call is an
ordinary one: it is cached, rate-limited, retried, charged to the budget, and has an intent. Its response is stored as a
turn before the next request is sent. After an interruption, the generator is replayed with the stored turns, so that
only the call in flight is sent again. The result of the case contains all turns and replaces those stored before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from msgspec import Struct, structs

from ragbed.models.base import Model, is_system, sum_usage
from ragbed.models.failures import REJECTED
from ragbed.models.systems import describe_exception
from ragbed.runs.store import Called, kind_of_error
from ragbed.schema import Case, Completion, Step
from ragbed.testbeds.prompts.strategies import Flow, flow_of
from ragbed.testbeds.search.corpora import SearchCorpus
from ragbed.testbeds.search.episode import Episode
from ragbed.testbeds.search.settings import SearchSettings
from ragbed.text import storable

Calls: TypeAlias = Generator[Case, Called, Completion]  # yields a case's requests, and returns its result


class EpisodeFactory(Struct, frozen=True):
    """Starts the episodes of a run.

    Attributes:
        corpora: The corpora by dataset name and ID.
        limits: The limits for every episode.
    """

    corpora: Mapping[tuple[str, str], SearchCorpus]
    limits: SearchSettings

    async def start(self, case: Case, model: Model) -> Episode | None:
        """Return a new episode, or None if the case is not one or the model is a RAG system, which searches itself."""
        corpus = self.corpora.get((case.data, case.corpus or ""))
        if corpus is None or is_system(model):
            return None
        await asyncio.to_thread(corpus.prepare)  # building an index may take minutes
        protocol = self.limits.protocol
        if protocol == "auto":
            protocol = "tools" if getattr(model, "calls_tools", False) else "text"
        return Episode(case, protocol, self.limits, partial(corpus.search, case))


async def plan_calls(case: Case, model: Model, episodes: EpisodeFactory | None) -> Calls:
    """Return the generator of a case's calls to a model; `episodes` starts the episodes of the `search` testbed."""
    if getattr(model, "replays", False):  # a replay returns the result of all calls at once
        return _single_call(case)
    if (flow := flow_of(case)) is not None:
        return _strategy_calls(case, flow)
    episode = None if episodes is None else await episodes.start(case, model)
    return _single_call(case) if episode is None else episode_calls(episode)


def _single_call(case: Case) -> Calls:
    return (yield case).completion


def _strategy_calls(case: Case, flow: Flow) -> Calls:
    steps, done, advance = list[Step](), Completion(outcome="ok", finish="stop"), partial(next, flow)
    while True:
        try:
            messages = advance()
        except StopIteration as ended:
            return structs.replace(done, reply=ended.value, steps=tuple(steps))
        except Exception as error:  # a strategy of the user may raise anything
            return structs.replace(describe_exception(error), steps=tuple(steps))
        called = yield structs.replace(case, messages=messages)
        done = called.completion
        steps.append(
            Step(messages=messages, reply=done.reply, usage=done.usage, latency_s=done.latency_s, cached=called.cached)
        )
        if done.outcome != "ok":
            return structs.replace(done, steps=tuple(steps))
        advance = partial(flow.send, storable(done.reply or ""))


def episode_calls(episode: Episode) -> Calls:
    """Return the generator of the calls of a new episode."""
    while True:
        request = episode.request()
        called = yield request
        done = called.completion
        if done.outcome != "ok":
            episode.fail(done, cached=called.cached)
            return structs.replace(_explain(done, request), calls=(), steps=tuple(episode.steps))
        episode.take(done, cached=called.cached)
        if episode.ended is None:
            continue
        result = structs.replace(done, calls=(), steps=tuple(episode.steps))
        if episode.ended == "answered":
            return structs.replace(result, reply=episode.answer)
        # The last response, which is among the steps, is not an answer.
        return structs.replace(result, reply="", outcome="truncated", finish=episode.ended)


def _explain(failed: Completion, request: Case) -> Completion:
    """Return a failed call; if the server may have rejected the search tool, add a suggested fix to the error."""
    error = failed.error or ""
    kind, _, detail = error.lower().partition(":")
    phrase = {"request": "tool", "missing": "support tool"}.get(kind)  # OpenRouter finds no endpoint that has tools
    if not request.tools or phrase is None or phrase not in detail:
        return failed
    return structs.replace(
        failed, error=f"{error} If the server does not support tools, set the search protocol to text."
    )


async def make_calls(
    calls: Calls,
    call: Callable[[Case], Awaitable[Called]],
    stored: Sequence[Called] = (),
    store: Callable[[int, Called], None] = lambda *_: None,
) -> Called:
    """Make a case's calls one after another; if a call fails, the failure is the case's outcome.

    Args:
        calls: A new generator of the case's calls.
        call: A function that makes one call.
        stored: The turns of an earlier attempt that was interrupted or failed.
        store: A function that stores a turn, given its number, before the next call is made.
    """
    turns: list[Called] = []
    try:
        request = next(calls)
    except StopIteration as ended:  # a strategy that made no call
        return Called(ended.value, "")
    while True:
        number = len(turns)
        called = stored[number] if number < len(stored) else await call(request)
        turns.append(called)
        try:
            request = calls.send(called)
        except StopIteration as ended:
            result: Completion = ended.value
            break
        if number >= len(stored):
            store(number, called)
    if result.steps:
        done = [turn.completion for turn in turns]
        result = structs.replace(
            result,
            usage=sum_usage(turn.usage for turn in done),
            latency_s=_sum_latency(turn.latency_s for turn in done),
            attempts=sum(turn.attempts for turn in done),
        )
    return Called(result, called.key, min(turn.cached for turn in turns))


def starts_over(failed: Completion) -> bool:
    """Return whether a failed case is repeated from its first call, because its last request was rejected as it is."""
    kind = kind_of_error(failed)
    return kind == "too-long" or kind in REJECTED


def _sum_latency(latencies: Iterable[float | None]) -> float | None:
    """Return the total latency of several calls, or None if none of them reports it."""
    known = [latency for latency in latencies if latency is not None]
    return round(sum(known), 4) if known else None
