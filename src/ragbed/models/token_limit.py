"""The token limit for responses, which is raised if a response is truncated (`max_tokens="auto"`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from ragbed.models.base import CONTEXT_FULL, Sampling
from ragbed.schema import Case, Completion, Lang

THINKING_LIMIT = 4_096  # the initial token limit for a model whose responses contain reasoning
MAX_LIMIT = 16_384  # the highest value, in tokens, to which the limit is raised
# Values above the initial limit. If the server or the context does not allow one of them, the next lower one is used.
_LIMITS = (2_048, THINKING_LIMIT, 8_192, MAX_LIMIT)
# Error kinds for a request whose token limit is higher than the server or the context allows.
_NOT_ALLOWED = ("settings", "request", "too-long")
_LIMIT_PARAMETER = r"(?i)max_?(?:completion_?|new_?|output_?)?tokens|num_predict"
_TOKENS = r"(?i)token|length"  # matches errors about a limit that the message does not name
# Matches errors that depend on the length of the prompt.
_PROMPT = r"(?i)(?:prompt|input|context|sequence)s?[ _-](?:tokens?|length|size|window)|model max length"
# Numbers in an error message, e.g. 8192 or 8,192, except in names, codes and other JSON fields.
_NUMBER = re.compile(r'(?<![\w."-])(?<!":)(?<!": )(?<!HTTP )(?:\d{1,3}(?:,\d{3})+|\d+)(?!\w|[.-]\d)', re.ASCII)
_URL = r"\w+://\S+"
_TOO_LOW = r"(?i)higher max|increase|too (?:low|small)"  # matches errors that ask for a higher limit


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
        self._accepted = 0  # the highest limit that the server has accepted
        # Limits, and the size of the shortest prompt in a language that they did not allow.
        self._too_long: dict[tuple[Lang, int], int] = {}
        # Cases for which the server has just rejected the limit, and the lower limit with which to repeat the call.
        self._lowered: dict[str, int] = {}
        self._only_thoughts, self.thinks = only_thoughts, False

    @property
    def start(self) -> int:
        """The token limit for a new call."""
        return min(self.highest, max(self.first, THINKING_LIMIT)) if self.thinks else self.first

    async def complete(self, case: Case, call: Callable[[int], Awaitable[Completion]]) -> Completion:
        """Make a call with the current limit, and repeat it with a higher limit if the response is truncated."""
        limit = self._allowed(self.start, case)
        done = await call(limit)
        while (lower := self.lower_for(done, limit, case)) is not None:
            limit, done = lower, join_attempts(done, await call(lower))
        higher = self.raise_for(done, limit, case)
        while higher is not None and higher > limit:
            again = await call(higher)
            lower = self.lower_for(again, higher, case)
            if lower is None:
                self.thinks = self.thinks or has_reasoned(again)
                return self.settle(join_attempts(done, again), higher, case)
            done, higher = replace(done, attempts=done.attempts + again.attempts), lower
        return self.settle(done, limit, case)

    def raise_for(self, done: Completion, limit: int, case: Case) -> int | None:
        """Return the higher limit with which to repeat a call, or None if the call should not be repeated."""
        self.thinks = self.thinks or has_reasoned(done)
        if done.outcome != "truncated" or (self._only_thoughts and not self.thinks):
            return None
        if done.finish == CONTEXT_FULL:  # a higher limit leaves no more room in the context window
            return None
        higher = self._allowed(min(self.highest, MAX_LIMIT if self.thinks else max(limit, THINKING_LIMIT)), case)
        return higher if higher > limit else None

    def lower_for(self, done: Completion, limit: int, case: Case) -> int | None:
        """Return the lower limit with which to repeat a call that failed because of its limit, otherwise None.

        If the prompt is too long for the limit, the limit is not used for longer prompts in the same language either.
        After a rejection of the limit itself, the lower limit is the one that the message names, or the next lower one.
        """
        if limit <= self.first or done.outcome != "error":
            return None
        kind, _, detail = (done.error or "").partition(":")
        if kind not in _NOT_ALLOWED:
            return None
        lower, is_named = self._below(limit), re.search(_LIMIT_PARAMETER, detail) is not None
        is_about_tokens = is_named or re.search(_TOKENS, detail) is not None
        if kind == "too-long" or (is_about_tokens and not is_named and re.search(_PROMPT, detail)):
            key, size = (case.lang, limit), _size(case)
            self._too_long[key] = min(size, self._too_long.get(key, size))
            return lower
        if not is_about_tokens or re.search(_TOO_LOW, detail):
            return self.first  # the limit is not too high
        if limit <= self._accepted:
            return lower  # the limit is too high only for this case
        if limit != self._lowered.get(case.case):  # otherwise, the number in the message was not the limit
            numbers = [int(number.replace(",", "")) for number in _NUMBER.findall(re.sub(_URL, "", detail))]
            lower = max((number for number in numbers if self.first < number < limit), default=lower)
        self._lowered[case.case] = lower
        return lower

    def settle(self, done: Completion, limit: int, case: Case) -> Completion:
        """Return the outcome of a call, with the token limit added if it differs from the initial limit.

        If the server rejected a higher limit and accepted this one, later calls do not exceed it.
        """
        if done.outcome != "error":
            self._accepted = max(self._accepted, limit)
        lowered = self._lowered.get(case.case)
        if lowered is not None and (done.outcome == "error" or lowered <= limit):
            del self._lowered[case.case]
            if done.outcome != "error":
                self.highest = min(self.highest, self._accepted)
        return done if limit == self.first else replace(done, max_tokens=limit)

    def _allowed(self, limit: int, case: Case) -> int:
        """Return the limit, or the highest lower one that is not known to be too high for the prompt."""
        if self._lowered:
            limit = min(limit, self._lowered.get(case.case, limit))
        if self._too_long:
            size = _size(case)
            too_high = [at for (lang, at), least in self._too_long.items() if lang == case.lang and size >= least]
            limit = min([limit, *map(self._below, too_high)])
        return limit

    def _below(self, limit: int) -> int:
        return max([self.first, *(lower for lower in _LIMITS if lower < limit)])


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
