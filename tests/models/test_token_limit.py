"""The token limit is raised for truncated responses, and lowered only if the server rejects the limit itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ragbed.models.base import CONTEXT_FULL, Sampling
from ragbed.models.token_limit import MAX_LIMIT, THINKING_LIMIT, TokenLimit
from ragbed.schema import Completion


def _complete(limit: TokenLimit, respond: Callable[[int], Completion]) -> tuple[Completion, list[int]]:
    """Return the outcome of a call, and the token limits with which it was made."""
    asked: list[int] = []

    async def call(max_tokens: int) -> Completion:
        asked.append(max_tokens)
        return respond(max_tokens)

    return asyncio.run(limit.complete(call)), asked


def _auto(*, thinks: bool = False) -> TokenLimit:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
    limit.thinks = thinks
    return limit


@pytest.mark.parametrize(
    ("error", "again", "is_lowered"),
    [
        ("too-long: HTTP 400: the prompt and max_tokens exceed the context length", [THINKING_LIMIT, 2_048], False),
        ("request: HTTP 400: Bad request", [THINKING_LIMIT], False),
        ("request: HTTP 400: max_tokens is too large: 4096", [THINKING_LIMIT, 2_048, 1_024], True),
        ("settings: HTTP 400: 'max_completion_tokens' must be at most 900", [THINKING_LIMIT, 2_048, 1_024], True),
        ("server: HTTP 500", [THINKING_LIMIT], False),
    ],
)
def test_a_rejection_of_the_raised_limits_lowers_the_limit_for_later_cases(
    error: str, again: list[int], is_lowered: bool
) -> None:
    def reject(max_tokens: int) -> Completion:
        if max_tokens > 256:
            return Completion(outcome="error", error=error, attempts=1)
        return Completion(outcome="truncated", reply="Par", finish="length", attempts=1)

    limit = _auto()
    done, asked = _complete(limit, reject)
    assert limit.highest == (256 if is_lowered else MAX_LIMIT)
    if not error.startswith("server"):
        assert (done.outcome, done.reply, done.attempts) == ("truncated", "Par", len(asked))
    assert asked[: len(again) + 1] == [256, *again]


@pytest.mark.parametrize(
    ("error", "later"),
    [
        ("request: HTTP 400: the valid range of max_tokens is [1, 8192]", [THINKING_LIMIT, 8_192]),
        ("too-long: HTTP 400: the maximum context length is 9000 tokens", [THINKING_LIMIT, MAX_LIMIT, 8_192]),
    ],
)
def test_a_rejected_limit_is_lowered_and_only_a_limit_of_the_server_applies_to_later_calls(
    error: str, later: list[int]
) -> None:
    def think(max_tokens: int) -> Completion:
        if max_tokens > 8_192:
            return Completion(outcome="error", error=error, attempts=1)
        return Completion(outcome="ok" if max_tokens >= 6_000 else "truncated", reasoning="Hm", attempts=1)

    limit = _auto()
    first, asked = _complete(limit, think)
    assert (first.outcome, first.max_tokens, first.attempts) == ("ok", 8_192, 3)
    assert asked == [256, MAX_LIMIT, 8_192]
    second, asked = _complete(limit, think)
    assert (second.outcome, asked) == ("ok", later)


@pytest.mark.parametrize(
    "thought", [{"reasoning": "Hm"}, {"reasoning": ""}, {"usage": {"in": 7, "out": 256, "reasoning": 256}}]
)
def test_a_truncated_thought_is_repeated_with_the_highest_limit_even_if_it_is_hidden(thought: dict[str, Any]) -> None:
    def think(max_tokens: int) -> Completion:
        return Completion(outcome="ok" if max_tokens >= 6_000 else "truncated", attempts=1, **thought)

    limit = _auto()
    assert [_complete(limit, think)[1] for _ in range(2)] == [[256, MAX_LIMIT], [THINKING_LIMIT, MAX_LIMIT]]


@pytest.mark.parametrize("usage", [None, {"in": 7, "out": 256}])
def test_a_truncated_answer_without_reasoning_is_repeated_with_the_lower_limit(usage: dict[str, int] | None) -> None:
    limit = _auto()
    assert limit.raise_for(Completion(outcome="truncated", reply="Par", usage=usage), 256) == THINKING_LIMIT
    assert not limit.thinks


def test_a_response_that_filled_the_context_window_is_not_repeated() -> None:
    full = Completion(outcome="truncated", reply="Par", finish=CONTEXT_FULL, attempts=1)
    done, asked = _complete(_auto(), lambda _: full)
    assert (done.outcome, done.max_tokens, asked) == ("truncated", None, [256])


def test_a_long_prompt_of_a_thinking_model_falls_back_for_its_case_only() -> None:
    def overflow(max_tokens: int) -> Completion:
        if max_tokens > 256:
            return Completion(outcome="error", error="too-long: HTTP 400: max_tokens", attempts=1)
        return Completion(outcome="ok", reply="Paris", reasoning="Hm", finish="stop", attempts=1)

    limit = _auto(thinks=True)
    assert _complete(limit, overflow)[0].reply == "Paris"
    assert limit.start == THINKING_LIMIT
