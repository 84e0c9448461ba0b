"""The token limit for responses, and how it is raised for truncated responses (`max_tokens="auto"`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from ragbed.models.base import Sampling
from ragbed.schema import Completion

THINKING_LIMIT = 4_096  # the first limit for a model that has been seen to think
MAX_LIMIT = 16_384  # the highest limit to which a request is raised
# Error kinds for a request whose limit exceeds what the server or the context allows.
_NOT_ALLOWED = ("settings", "request", "too-long")
_LIMIT_PARAMETER = re.compile(r"max_?(?:completion_|new_|output_)?tokens|num_predict", re.IGNORECASE)


class TokenLimit:
    """The token limit for calls to one model.

    The first call has the limit of the sampling parameters. After the first thought, calls start with THINKING_LIMIT.
    A truncated response is requested once more, with MAX_LIMIT if the model thinks and with THINKING_LIMIT otherwise.

    Args:
        sampling: The sampling parameters.
        only_thoughts: Whether to raise the limit only for models that think. For a model in this process, a long
            response without an end would take minutes.
    """

    def __init__(self, sampling: Sampling, *, only_thoughts: bool = False) -> None:
        self.first = sampling.max_tokens
        self._highest = max(self.first, MAX_LIMIT) if sampling.raises_limit else self.first
        self._only_thoughts, self._thinks = only_thoughts, False

    @property
    def raised(self) -> tuple[int, ...]:
        """The limits, other than the first, with which a response may have been requested."""
        return tuple(limit for limit in (THINKING_LIMIT, MAX_LIMIT) if self.first < limit <= self._highest)

    async def complete(self, call: Callable[[int], Awaitable[Completion]]) -> Completion:
        """Make a call with the current limit, and repeat it with a higher one if the response is truncated."""
        limit = min(self._highest, max(self.first, THINKING_LIMIT)) if self._thinks else self.first
        done = await call(limit)
        if limit > self.first and _is_not_allowed(done):
            limit = self.first
            self._learn(done, limit)
            done = _after(done, await call(limit))
        self._thinks = self._thinks or done.reasoning is not None
        higher = self._next(limit)
        if done.outcome == "truncated" and higher is not None:
            again = await call(higher)
            if _is_not_allowed(again):
                self._learn(again, limit)
                return replace(done, attempts=done.attempts + again.attempts)
            self._thinks = self._thinks or again.reasoning is not None
            limit, done = higher, _after(done, again)
        return done if limit == self.first else replace(done, max_tokens=limit)

    def _learn(self, rejected: Completion, allowed: int) -> None:
        """Lower the highest limit if an error is about the limit itself; a long prompt concerns only its case."""
        kind, _, detail = (rejected.error or "").partition(":")
        if kind != "too-long" and _LIMIT_PARAMETER.search(detail):
            self._highest = allowed

    def _next(self, limit: int) -> int | None:
        if self._only_thoughts and not self._thinks:
            return None
        higher = min(self._highest, MAX_LIMIT if self._thinks else max(limit, THINKING_LIMIT))
        return higher if higher > limit else None


def _is_not_allowed(done: Completion) -> bool:
    return done.outcome == "error" and (done.error or "").partition(":")[0] in _NOT_ALLOWED


def _after(first: Completion, second: Completion) -> Completion:
    """Return the second response with the tokens and attempts of both."""
    usage = Counter[str]()
    for done in (first, second):
        usage.update(done.usage or {})
    attempts = first.attempts + second.attempts
    return replace(second, usage=dict(usage) if first.usage or second.usage else None, attempts=attempts)
