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

    Attributes:
        thinks: Whether the model has been seen to think.
    """

    def __init__(self, sampling: Sampling, *, only_thoughts: bool = False) -> None:
        self.first = sampling.max_tokens
        self._highest = max(self.first, MAX_LIMIT) if sampling.raises_limit else self.first
        self._only_thoughts, self.thinks = only_thoughts, False

    @property
    def raised(self) -> tuple[int, ...]:
        """The limits, other than the first, with which a response may have been requested."""
        return tuple(limit for limit in (THINKING_LIMIT, MAX_LIMIT) if self.first < limit <= self._highest)

    @property
    def start(self) -> int:
        """The limit for a new call."""
        return min(self._highest, max(self.first, THINKING_LIMIT)) if self.thinks else self.first

    async def complete(self, call: Callable[[int], Awaitable[Completion]]) -> Completion:
        """Make a call with the current limit, and repeat it with a higher one if the response is truncated."""
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
                self.thinks = self.thinks or again.reasoning is not None
                limit, done = higher, join_attempts(done, again)
        return self.with_limit(done, limit)

    def raise_for(self, done: Completion, limit: int) -> int | None:
        """Return the higher limit with which a response has to be requested again, or None if it has not."""
        self.thinks = self.thinks or done.reasoning is not None
        if done.outcome != "truncated" or (self._only_thoughts and not self.thinks):
            return None
        higher = min(self._highest, MAX_LIMIT if self.thinks else max(limit, THINKING_LIMIT))
        return higher if higher > limit else None

    def rejects(self, done: Completion, allowed: int) -> bool:
        """Return whether a call failed because of its limit.

        If the error is about the limit itself, later calls are limited to what is allowed; a long prompt concerns only
        its case.
        """
        kind, _, detail = (done.error or "").partition(":")
        if done.outcome != "error" or kind not in _NOT_ALLOWED:
            return False
        if kind != "too-long" and _LIMIT_PARAMETER.search(detail):
            self._highest = allowed
        return True

    def with_limit(self, done: Completion, limit: int) -> Completion:
        """Return a completion that records its limit if it is not the first one."""
        return done if limit == self.first else replace(done, max_tokens=limit)


def join_attempts(first: Completion, second: Completion) -> Completion:
    """Return the second response with the tokens and attempts of both."""
    usage = Counter[str]()
    for done in (first, second):
        usage.update(done.usage or {})
    if "batch" in usage:  # a mark, not a count
        usage["batch"] = 1
    attempts = first.attempts + second.attempts
    return replace(second, usage=dict(usage) if first.usage or second.usage else None, attempts=attempts)
