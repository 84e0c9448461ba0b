"""The token limit for responses, which is raised if a response is truncated (`max_tokens="auto"`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from ragbed.models.base import CONTEXT_FULL, Sampling
from ragbed.schema import Completion

THINKING_LIMIT = 4_096  # the initial token limit for a model whose responses contain reasoning
MAX_LIMIT = 16_384  # the highest value, in tokens, to which the limit is raised
# Error kinds for a request whose token limit is higher than the server or the context allows.
_NOT_ALLOWED = ("settings", "request", "too-long")
_LIMIT_PARAMETER = r"(?i)max_?(?:completion_|new_|output_)?tokens|num_predict"


class TokenLimit:
    """The token limit for calls to one model.

    The first call uses the limit in the sampling parameters. Once a response has contained reasoning (see
    `has_reasoned`), calls start with THINKING_LIMIT. If a response is truncated, the call is repeated once, with
    MAX_LIMIT if the model reasons and THINKING_LIMIT otherwise.

    Args:
        sampling: The sampling parameters.
        only_thoughts: Whether to raise the limit only for models that reason. For a model in this process, a response
            that never ends would take minutes.

    Attributes:
        thinks: Whether a response has contained reasoning.
    """

    def __init__(self, sampling: Sampling, *, only_thoughts: bool = False) -> None:
        self.first = sampling.max_tokens
        self._highest = max(self.first, MAX_LIMIT) if sampling.raises_limit else self.first
        self._only_thoughts, self.thinks = only_thoughts, False

    @property
    def raised(self) -> tuple[int, ...]:
        """The values to which the initial token limit may be raised."""
        return tuple(limit for limit in (THINKING_LIMIT, MAX_LIMIT) if self.first < limit <= self._highest)

    @property
    def start(self) -> int:
        """The token limit for a new call."""
        return min(self._highest, max(self.first, THINKING_LIMIT)) if self.thinks else self.first

    async def complete(self, call: Callable[[int], Awaitable[Completion]]) -> Completion:
        """Make a call with the current limit, and repeat it with a higher limit if the response is truncated."""
        limit = self.start
        done = await call(limit)
        if limit > self.first and self.rejects(done, self.first):
            limit = self.first
            done = join_attempts(done, await call(limit))
        higher = self.raise_for(done, limit)
        if higher is not None:
            again = await call(higher)
            if self.rejects(again, limit):
                done = replace(done, attempts=done.attempts + again.attempts)
            else:
                self.thinks = self.thinks or has_reasoned(again)
                limit, done = higher, join_attempts(done, again)
        return self.with_limit(done, limit)

    def raise_for(self, done: Completion, limit: int) -> int | None:
        """Return the higher limit with which to repeat a call, or None if the call should not be repeated."""
        self.thinks = self.thinks or has_reasoned(done)
        if done.outcome != "truncated" or (self._only_thoughts and not self.thinks):
            return None
        if done.finish == CONTEXT_FULL:  # a higher limit leaves no more room in the context window
            return None
        higher = min(self._highest, MAX_LIMIT if self.thinks else max(limit, THINKING_LIMIT))
        return higher if higher > limit else None

    def rejects(self, done: Completion, allowed: int) -> bool:
        """Return whether a call failed because of its token limit.

        If the server rejected the limit itself, later calls do not exceed `allowed`. If the prompt is too long, only
        this case is affected.
        """
        kind, _, detail = (done.error or "").partition(":")
        if done.outcome != "error" or kind not in _NOT_ALLOWED:
            return False
        if kind != "too-long" and re.search(_LIMIT_PARAMETER, detail):
            self._highest = allowed
        return True

    def with_limit(self, done: Completion, limit: int) -> Completion:
        """Return a completion with the token limit added if it differs from the initial limit."""
        return done if limit == self.first else replace(done, max_tokens=limit)


def has_reasoned(done: Completion) -> bool:
    """Return whether a model has reasoned, even if the provider reports only the number of reasoning tokens."""
    return done.reasoning is not None or bool(done.usage and done.usage.get("reasoning"))


def join_attempts(first: Completion, second: Completion) -> Completion:
    """Return the second response, with the token usage and the attempts of both responses added up."""
    usage = Counter[str]()
    for done in (first, second):
        usage.update(done.usage or {})
    if "batch" in usage:  # `batch` is a flag, not a count
        usage["batch"] = 1
    attempts = first.attempts + second.attempts
    return replace(second, usage=dict(usage) if first.usage or second.usage else None, attempts=attempts)
