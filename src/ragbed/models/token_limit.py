"""The token limit for responses, which is raised if a response is truncated (`max_tokens="auto"`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from ragbed.models.base import CONTEXT_FULL, Sampling
from ragbed.schema import Case, Completion

THINKING_LIMIT = 4_096  # the initial token limit for a model whose responses contain reasoning
MAX_LIMIT = 16_384  # the highest value, in tokens, to which the limit is raised
# Values above the initial limit. If the server or the context does not allow one of them, the next lower one is used.
_LIMITS = (2_048, THINKING_LIMIT, 8_192, MAX_LIMIT)
# Error kinds for a request whose token limit is higher than the server or the context allows.
_NOT_ALLOWED = ("settings", "request", "too-long")
_LIMIT_PARAMETER = r"(?i)max_?(?:completion_|new_|output_)?tokens|num_predict"


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
        thinks: Whether a response has contained reasoning.
    """

    def __init__(self, sampling: Sampling, *, only_thoughts: bool = False) -> None:
        self.first = sampling.max_tokens
        self._highest = max(self.first, MAX_LIMIT) if sampling.raises_limit else self.first
        self._too_long: dict[int, int] = {}  # limits, and the size of the shortest prompt that they did not allow
        self._only_thoughts, self.thinks = only_thoughts, False

    @property
    def raised(self) -> tuple[int, ...]:
        """The values to which the initial token limit may be raised."""
        return tuple(limit for limit in _LIMITS if self.first < limit <= self._highest)

    @property
    def start(self) -> int:
        """The token limit for a new call."""
        return min(self._highest, max(self.first, THINKING_LIMIT)) if self.thinks else self.first

    async def complete(self, case: Case, call: Callable[[int], Awaitable[Completion]]) -> Completion:
        """Make a call with the current limit, and repeat it with a higher limit if the response is truncated."""
        limit = self._allowed(self.start, case)
        done = await call(limit)
        while limit > self.first and (lower := self.lower_for(done, limit, case)) is not None:
            limit, done = lower, join_attempts(done, await call(lower))
        higher = self.raise_for(done, limit, case)
        while higher is not None and higher > limit:
            again = await call(higher)
            lower = self.lower_for(again, higher, case)
            if lower is None:
                self.thinks = self.thinks or has_reasoned(again)
                return self.with_limit(join_attempts(done, again), higher)
            done, higher = replace(done, attempts=done.attempts + again.attempts), lower
        return self.with_limit(done, limit)

    def raise_for(self, done: Completion, limit: int, case: Case) -> int | None:
        """Return the higher limit with which to repeat a call, or None if the call should not be repeated."""
        self.thinks = self.thinks or has_reasoned(done)
        if done.outcome != "truncated" or (self._only_thoughts and not self.thinks):
            return None
        if done.finish == CONTEXT_FULL:  # a higher limit leaves no more room in the context window
            return None
        higher = self._allowed(min(self._highest, MAX_LIMIT if self.thinks else max(limit, THINKING_LIMIT)), case)
        return higher if higher > limit else None

    def lower_for(self, done: Completion, limit: int, case: Case) -> int | None:
        """Return the lower limit with which to repeat a call that failed because of its limit, otherwise None.

        If the server rejected the limit itself, later calls do not exceed the lower limit. If the prompt is too long
        for the limit, the limit is not used for longer prompts either.
        """
        kind, _, detail = (done.error or "").partition(":")
        if done.outcome != "error" or kind not in _NOT_ALLOWED:
            return None
        lower = self._below(limit)
        if kind == "too-long":
            self._too_long[limit] = min(_size(case), self._too_long.get(limit, _size(case)))
        elif re.search(_LIMIT_PARAMETER, detail):
            self._highest = min(self._highest, lower)
        else:
            return self.first
        return lower

    def _allowed(self, limit: int, case: Case) -> int:
        """Return the limit, or the next lower one that is not known to be too high for the prompt."""
        while limit > self.first and limit in self._too_long and _size(case) >= self._too_long[limit]:
            limit = self._below(limit)
        return limit

    def _below(self, limit: int) -> int:
        return max([self.first, *(lower for lower in _LIMITS if lower < limit)])

    def with_limit(self, done: Completion, limit: int) -> Completion:
        """Return a completion with the token limit added if it differs from the initial limit."""
        return done if limit == self.first else replace(done, max_tokens=limit)


def _size(case: Case) -> int:
    return sum(len(message.content) for message in case.messages)


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
