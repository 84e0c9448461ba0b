"""The token limit for responses, which is raised if a response is truncated (`max_tokens="auto"`)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from ragbed.models.base import CONTEXT_FULL, Sampling, sum_usage
from ragbed.schema import Completion

THINKING_LIMIT = 4_096  # the initial token limit for a model whose responses contain reasoning
MAX_LIMIT = 16_384  # the highest value, in tokens, to which the limit is raised
# Values above the initial limit. If the server or the context does not allow one of them, the next lower one is used.
_LIMITS = (1_024, 2_048, THINKING_LIMIT, 8_192, MAX_LIMIT)
# Error kinds for a request whose token limit is higher than the server or the context allows.
_NOT_ALLOWED = ("settings", "request", "too-long")
# Matches the name of the token limit; other errors are about the length of the prompt. TGI names its own parameter.
_LIMIT_PARAMETER = re.compile("max_(?:completion_|new_)?tokens")


class TokenLimit:
    """The token limit for calls to one model.

    The first call uses the limit in the sampling parameters. Once a response has contained reasoning (see
    `has_reasoned`), calls start with THINKING_LIMIT. If a response is truncated, the call is repeated once, with
    MAX_LIMIT if the model reasons and THINKING_LIMIT otherwise, or with the highest limit that is allowed.

    Args:
        sampling: The sampling parameters.
        only_thoughts: Whether to raise the limit only for models that reason. For a model in this process, a response
            that never ends would take minutes.

    Attributes:
        highest: The highest limit.
        thinks: Whether a response has contained reasoning.
        scope: A part of the cache key, because complete responses can be longer if the limit may be raised.
    """

    def __init__(self, sampling: Sampling, *, only_thoughts: bool = False) -> None:
        self.first = sampling.max_tokens
        self.scope = "auto" if sampling.raises_limit else ""
        self.highest = max(self.first, MAX_LIMIT) if sampling.raises_limit else self.first
        self._only_thoughts, self.thinks = only_thoughts, False

    @property
    def start(self) -> int:
        """The token limit for a new call."""
        return min(self.highest, max(self.first, THINKING_LIMIT)) if self.thinks else self.first

    async def complete(self, call: Callable[[int], Awaitable[Completion]]) -> Completion:
        """Make a call with the current limit, and repeat it with a higher limit if the response is truncated."""
        limit = self.start
        done = await call(limit)
        while (lower := self.lower_for(done, limit)) is not None:
            limit, done = lower, join_attempts(done, await call(lower))
        higher = self.raise_for(done, limit)
        while higher is not None and higher > limit:
            again = await call(higher)
            lower = self.lower_for(again, higher)
            if lower is None:
                return self.settle(join_attempts(done, again), higher)
            done, higher = replace(done, attempts=done.attempts + again.attempts), lower
        return self.settle(done, limit)

    def raise_for(self, done: Completion, limit: int) -> int | None:
        """Return the higher limit with which to repeat a call, or None if the call should not be repeated."""
        self.thinks = self.thinks or has_reasoned(done)
        if done.outcome != "truncated" or (self._only_thoughts and not self.thinks):
            return None
        if done.finish == CONTEXT_FULL:  # a higher limit leaves no more room in the context window
            return None
        higher = min(self.highest, MAX_LIMIT if self.thinks else max(limit, THINKING_LIMIT))
        return higher if higher > limit else None

    def lower_for(self, done: Completion, limit: int) -> int | None:
        """Return the lower limit with which to repeat a call that failed because of its limit, otherwise None.

        If the message names the token limit, later calls do not exceed the lower limit either. If the prompt is too
        long for the limit, only this call is repeated.
        """
        if limit <= self.first or done.outcome != "error":
            return None
        kind, _, detail = (done.error or "").partition(":")
        if kind not in _NOT_ALLOWED:
            return None
        lower = max(self.first, *(lower for lower in (0, *_LIMITS) if lower < limit))
        if kind == "too-long":
            return lower
        if _LIMIT_PARAMETER.search(detail) is None:
            return self.first  # the limit is not too high
        self.highest = min(self.highest, lower)
        return lower

    def settle(self, done: Completion, limit: int) -> Completion:
        """Return the outcome of a call, with the token limit added if it differs from the initial limit."""
        self.thinks = self.thinks or has_reasoned(done)
        return done if limit == self.first else replace(done, max_tokens=limit)


def has_reasoned(done: Completion) -> bool:
    """Return whether a model has reasoned, even if the provider reports only the number of reasoning tokens."""
    return done.reasoning is not None or bool(done.usage and done.usage.get("reasoning"))


def join_attempts(first: Completion, second: Completion) -> Completion:
    """Return the second response, with the token usage and the attempts of both responses added up."""
    usage, attempts = sum_usage((first.usage, second.usage)), first.attempts + second.attempts
    return replace(second, usage=usage, attempts=attempts)
