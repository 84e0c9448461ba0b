"""Run the episodes of the `search` testbed, in which a case takes several turns.

A turn is an ordinary call: it is cached, rate-limited, retried, charged to the budget, and has an intent. Its response
is stored before the next turn is sent, so an interrupted episode continues with the turn that was in flight. The result
of the case contains all turns and replaces those stored before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct, structs

from ragbed.models.base import AnsweringAfresh, Model, ToolCalling
from ragbed.runs.multi_call import Called, sum_latency, sum_usage
from ragbed.schema import Case, Completion
from ragbed.testbeds.search.corpora import SearchCorpus
from ragbed.testbeds.search.episode import Episode
from ragbed.testbeds.search.settings import SearchSettings


class EpisodeFactory(Struct, frozen=True):
    """Starts the episodes of a run.

    Attributes:
        corpora: The corpora by dataset name and ID.
        limits: The limits for every episode.
    """

    corpora: Mapping[tuple[str, str], SearchCorpus]
    limits: SearchSettings

    async def start(self, case: Case, model: Model) -> Episode | None:
        """Return a new episode, or None if the case needs only one call or the model is a RAG system."""
        corpus = self.corpora.get((case.data, case.corpus or ""))
        if corpus is None or is_system(model):
            return None
        await asyncio.to_thread(corpus.prepare)  # building an index may take minutes
        protocol = self.limits.protocol
        if protocol == "auto":
            protocol = "tools" if isinstance(model, ToolCalling) and model.calls_tools else "text"
        return Episode(case, protocol, self.limits, partial(corpus.search, case))


def is_system(model: Model) -> bool:
    """Return whether a model is a RAG system, which builds its own prompts."""
    return isinstance(model, AnsweringAfresh) and not getattr(model, "takes_prompts", False)


async def run_episode(
    episode: Episode,
    call: Callable[[Case], Awaitable[Called]],
    earlier: Sequence[Called] = (),
    keep: Callable[[int, Called], Awaitable[None]] | None = None,
) -> Called:
    """Run an episode to its end; if a call fails, the failure is the case's outcome.

    Args:
        episode: A new episode.
        call: A function that makes one call.
        earlier: The stored turns of an interrupted episode.
        keep: A function that stores a turn, given its number, before the next one is sent.
    """
    turns = list[Called]()
    while True:
        number = len(turns)
        called = earlier[number] if number < len(earlier) else await call(episode.request())
        if called.completion.outcome != "ok":
            turns.append(_explain(called, episode.request()))
            episode.fail(called.completion, cached=called.cached)
            return _end(episode, turns)
        turns.append(called)
        episode.take(called.completion, cached=called.cached)
        if episode.ended is not None:
            return _end(episode, turns)
        if number >= len(earlier) and keep is not None:
            await keep(number, called)


def _explain(called: Called, request: Case) -> Called:
    """Return a failed call; if the server may have rejected the search tool, add a suggested fix to the error."""
    error = called.completion.error or ""
    kind, _, detail = error.lower().partition(":")
    phrase = {"request": "tool", "missing": "support tool"}.get(kind)  # OpenRouter finds no endpoint that has tools
    if not request.tools or phrase is None or phrase not in detail:
        return called
    error = f"{error} If the server does not support tools, set search=protocol=text."
    return called._replace(completion=structs.replace(called.completion, error=error))


def _end(episode: Episode, turns: Sequence[Called]) -> Called:
    """Return a case's result: the last response with the final answer, total usage and latency, and all turns."""
    last, steps = turns[-1].completion, tuple(episode.steps)
    changes: dict[str, object] = {
        "usage": sum_usage(turn.completion for turn in turns),
        "latency_s": sum_latency(turn.completion for turn in turns),
        "attempts": sum(turn.completion.attempts for turn in turns),
        "calls": (),
        "steps": steps,
    }
    if episode.ended == "answered":
        changes |= {"reply": episode.answer}
    elif episode.ended is not None:  # the last response, which is among the steps, is not an answer
        changes |= {"reply": "", "outcome": "truncated", "finish": episode.ended}
    result: Completion = structs.replace(last, **changes)
    return Called(result, turns[-1].key, all(turn.cached for turn in turns))
