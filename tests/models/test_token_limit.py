"""The token limit is raised for truncated responses, and lowered only if the server rejects the limit itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ragbed.models.base import CONTEXT_FULL, Sampling
from ragbed.models.token_limit import MAX_LIMIT, THINKING_LIMIT, TokenLimit
from ragbed.schema import Completion


@pytest.mark.parametrize(
    ("error", "is_lowered"),
    [
        ("too-long: HTTP 400: the prompt and max_tokens exceed the context length", False),
        ("request: HTTP 400: the image is not valid", False),
        ("request: HTTP 400: max_tokens is too large: 4096", True),
        ("settings: HTTP 400: 'max_completion_tokens' must be at most 1024", True),
    ],
)
def test_only_an_error_about_the_limit_lowers_it_for_later_cases(error: str, is_lowered: bool) -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
    asked: list[int] = []

    async def reject(max_tokens: int) -> Completion:
        asked.append(max_tokens)
        if max_tokens > 256:
            return Completion(outcome="error", error=error, attempts=1)
        return Completion(outcome="truncated", reply="Par", finish="length", attempts=1)

    done = asyncio.run(limit.complete(reject))
    assert (done.outcome, done.reply, asked) == ("truncated", "Par", [256, THINKING_LIMIT])
    assert limit.raised == (() if is_lowered else (THINKING_LIMIT, MAX_LIMIT))


@pytest.mark.parametrize(
    "thought", [{"reasoning": "Hm"}, {"reasoning": ""}, {"usage": {"in": 7, "out": 256, "reasoning": 256}}]
)
def test_a_truncated_thought_is_repeated_with_the_highest_limit_even_if_it_is_hidden(thought: dict[str, Any]) -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
    asked: list[int] = []

    async def think(max_tokens: int) -> Completion:
        asked.append(max_tokens)
        return Completion(outcome="ok" if max_tokens >= 6_000 else "truncated", attempts=1, **thought)

    outcomes = [asyncio.run(limit.complete(think)).outcome for _ in range(2)]
    assert outcomes == ["ok", "ok"]
    assert asked == [256, MAX_LIMIT, THINKING_LIMIT, MAX_LIMIT]


@pytest.mark.parametrize("usage", [None, {"in": 7, "out": 256}])
def test_a_truncated_answer_without_reasoning_is_repeated_with_the_lower_limit(usage: dict[str, int] | None) -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
    assert limit.raise_for(Completion(outcome="truncated", reply="Par", usage=usage), 256) == THINKING_LIMIT
    assert not limit.thinks


def test_a_response_that_filled_the_context_window_is_not_repeated() -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
    asked: list[int] = []

    async def fill(max_tokens: int) -> Completion:
        asked.append(max_tokens)
        return Completion(outcome="truncated", reply="Par", finish=CONTEXT_FULL, attempts=1)

    done = asyncio.run(limit.complete(fill))
    assert (done.outcome, done.max_tokens, asked) == ("truncated", None, [256])


def test_a_long_prompt_of_a_thinking_model_falls_back_for_its_case_only() -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))

    async def think(max_tokens: int) -> Completion:
        return Completion(outcome="ok", reply=str(max_tokens), reasoning="Hm", finish="stop", attempts=1)

    async def overflow(max_tokens: int) -> Completion:
        if max_tokens > 256:
            return Completion(outcome="error", error="too-long: HTTP 400: max_tokens", attempts=1)
        return await think(max_tokens)

    replies = [asyncio.run(limit.complete(call)).reply for call in (think, overflow, think)]
    assert replies == ["256", "256", str(THINKING_LIMIT)]
