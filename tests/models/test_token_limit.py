"""The token limit is raised for truncated responses, and lowered only if the server rejects the limit itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from ragbed.models.base import CONTEXT_FULL, Sampling
from ragbed.models.token_limit import MAX_LIMIT, THINKING_LIMIT, TokenLimit
from ragbed.schema import Completion
from tests.runs.harness import make_case


@pytest.mark.parametrize(
    ("error", "again", "is_lowered"),
    [
        ("too-long: HTTP 400: the prompt and max_tokens exceed the context length", [THINKING_LIMIT, 2_048], False),
        ("request: HTTP 400: Bad request", [THINKING_LIMIT], False),
        ("request: HTTP 400: max_tokens is too large: 4096", [THINKING_LIMIT, 2_048], True),
        ("settings: HTTP 400: 'max_completion_tokens' must be at most 1024", [THINKING_LIMIT, 1_024], True),
        ("request: HTTP 400: the reasoning did not fit; increase max_tokens", [THINKING_LIMIT], False),
    ],
)
def test_a_rejection_of_the_raised_limits_lowers_the_limit_for_later_cases(
    error: str, again: list[int], is_lowered: bool
) -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
    asked: list[int] = []

    async def reject(max_tokens: int) -> Completion:
        asked.append(max_tokens)
        if max_tokens > 256:
            return Completion(outcome="error", error=error, attempts=1)
        return Completion(outcome="truncated", reply="Par", finish="length", attempts=1)

    done = asyncio.run(limit.complete(make_case(0), reject))
    assert (done.outcome, done.reply, done.attempts) == ("truncated", "Par", len(asked))
    assert asked == [256, *again]
    assert limit.highest == (256 if is_lowered else MAX_LIMIT)


@pytest.mark.parametrize(
    "message",
    [
        '{"message":"The maximum tokens you requested exceeds the model limit of 3000. Try again with a maximum tokens '
        'value that is lower than 3000."}',
        "This model supports at most 3000 completion tokens, whereas you provided 16384.",
        '{"error":{"message":"max_tokens: 16384 > 3,000, which is the maximum for claude-3-8192-20240307","code":400}}',
        '{"error":{"code":"4210","message":"max_tokens\N{IDEOGRAPHIC COMMA}\u8303\u56f4\u4e3a[1,3000]"}}',
        '{"base_resp":{"status_code":4013,"status_msg":"invalid params, tokens_to_generate \u6700\u5927\u4e3a3000"}}',
    ],
)
def test_a_limit_in_the_message_is_used_at_once_and_for_later_cases(message: str) -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
    asked: list[int] = []

    async def think(max_tokens: int) -> Completion:
        asked.append(max_tokens)
        if max_tokens > 3_000:
            return Completion(outcome="error", error=f"request: HTTP 400: {message}", attempts=1)
        return Completion(outcome="ok" if max_tokens >= 2_500 else "truncated", reasoning="Hm", attempts=1)

    outcomes = [asyncio.run(limit.complete(make_case(number), think)).outcome for number in range(2)]
    assert (outcomes, asked) == (["ok", "ok"], [256, MAX_LIMIT, 3_000, 3_000])


def test_a_rejection_without_a_reason_does_not_lower_a_limit_that_the_server_has_accepted() -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
    limit.thinks, asked = True, list[int]()

    async def reject_the_second(max_tokens: int) -> Completion:
        asked.append(max_tokens)
        if len(asked) == 2:
            return Completion(outcome="error", error="request: HTTP 400: Bad request")
        return Completion(outcome="ok", reply="Paris", reasoning="Hm")

    for number in range(3):
        assert asyncio.run(limit.complete(make_case(number), reject_the_second)).outcome == "ok"
    assert asked == [THINKING_LIMIT, THINKING_LIMIT, 256, THINKING_LIMIT]


@pytest.mark.parametrize(
    ("error", "again"),
    [
        ("request: HTTP 400: the valid range of max_tokens is [1, 8192]", [THINKING_LIMIT, 8_192]),
        ("too-long: HTTP 400: the maximum context length is 9000 tokens", [THINKING_LIMIT, 8_192]),
    ],
)
def test_a_rejected_limit_is_lowered_and_not_sent_again_for_similar_prompts(error: str, again: list[int]) -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
    asked: list[int] = []

    async def think(max_tokens: int) -> Completion:
        asked.append(max_tokens)
        if max_tokens > 8_192:
            return Completion(outcome="error", error=error, attempts=1)
        return Completion(outcome="ok" if max_tokens >= 6_000 else "truncated", reasoning="Hm", attempts=1)

    first = asyncio.run(limit.complete(make_case(0), think))
    assert (first.outcome, first.max_tokens, first.attempts) == ("ok", 8_192, 3)
    assert asked == [256, MAX_LIMIT, 8_192]
    asked.clear()
    assert asyncio.run(limit.complete(make_case(0), think)).outcome == "ok"
    assert asked == again


def test_a_limit_is_not_lowered_for_later_cases_if_the_server_accepts_no_lower_one() -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
    limit.thinks, asked = True, list[int]()

    async def reject_three(max_tokens: int) -> Completion:
        asked.append(max_tokens)
        if len(asked) <= 3:
            return Completion(outcome="error", error="request: HTTP 400: max_tokens and seed are not valid")
        return Completion(outcome="ok", reply="Paris", reasoning="Hm")

    outcomes = [asyncio.run(limit.complete(make_case(number), reject_three)).outcome for number in range(2)]
    assert outcomes == ["error", "ok"]
    assert asked == [THINKING_LIMIT, 2_048, 256, THINKING_LIMIT]
    assert limit.highest == MAX_LIMIT


@pytest.mark.parametrize("kind", ["too-long", "request"])
def test_no_limit_above_a_rejected_one_is_sent_for_the_same_prompt(kind: str) -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
    limit.thinks, asked = True, list[int]()

    async def reject(max_tokens: int) -> Completion:
        asked.append(max_tokens)
        if max_tokens > 3_000:
            return Completion(outcome="error", error=f"{kind}: HTTP 400: max_tokens is too large")
        return Completion(outcome="truncated", reply="", reasoning="Hm", finish="length")

    done = asyncio.run(limit.complete(make_case(0), reject))
    assert (done.outcome, done.max_tokens, asked) == ("truncated", 2_048, [THINKING_LIMIT, 2_048])


def test_a_prompt_that_is_too_long_in_one_language_does_not_lower_the_limit_in_another() -> None:
    chinese = replace(make_case(0, filler="\N{CJK UNIFIED IDEOGRAPH-4E2D}" * 5_000), lang="zh")
    english = make_case(1, filler="word " * 1_400)
    for case, other in ((chinese, english), (english, replace(chinese, messages=2 * chinese.messages))):
        too_long = Completion(outcome="error", error="too-long: HTTP 400: the prompt is too long")
        limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
        truncated = Completion(outcome="truncated", reasoning="Hm", finish="length")
        assert limit.lower_for(too_long, MAX_LIMIT, case) == 8_192
        assert limit.raise_for(truncated, 256, case) == 8_192
        assert limit.raise_for(truncated, 256, other) == MAX_LIMIT


@pytest.mark.parametrize(
    "thought", [{"reasoning": "Hm"}, {"reasoning": ""}, {"usage": {"in": 7, "out": 256, "reasoning": 256}}]
)
def test_a_truncated_thought_is_repeated_with_the_highest_limit_even_if_it_is_hidden(thought: dict[str, Any]) -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
    asked: list[int] = []

    async def think(max_tokens: int) -> Completion:
        asked.append(max_tokens)
        return Completion(outcome="ok" if max_tokens >= 6_000 else "truncated", attempts=1, **thought)

    outcomes = [asyncio.run(limit.complete(make_case(0), think)).outcome for _ in range(2)]
    assert outcomes == ["ok", "ok"]
    assert asked == [256, MAX_LIMIT, THINKING_LIMIT, MAX_LIMIT]


@pytest.mark.parametrize("usage", [None, {"in": 7, "out": 256}])
def test_a_truncated_answer_without_reasoning_is_repeated_with_the_lower_limit(usage: dict[str, int] | None) -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
    assert (
        limit.raise_for(Completion(outcome="truncated", reply="Par", usage=usage), 256, make_case(0)) == THINKING_LIMIT
    )
    assert not limit.thinks


def test_a_response_that_filled_the_context_window_is_not_repeated() -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
    asked: list[int] = []

    async def fill(max_tokens: int) -> Completion:
        asked.append(max_tokens)
        return Completion(outcome="truncated", reply="Par", finish=CONTEXT_FULL, attempts=1)

    done = asyncio.run(limit.complete(make_case(0), fill))
    assert (done.outcome, done.max_tokens, asked) == ("truncated", None, [256])


def test_a_long_prompt_of_a_thinking_model_falls_back_for_its_case_only() -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))

    async def think(max_tokens: int) -> Completion:
        return Completion(outcome="ok", reply=str(max_tokens), reasoning="Hm", finish="stop", attempts=1)

    async def overflow(max_tokens: int) -> Completion:
        if max_tokens > 256:
            return Completion(outcome="error", error="too-long: HTTP 400: max_tokens", attempts=1)
        return await think(max_tokens)

    short, long = make_case(0), make_case(0, filler="x" * 9_000)
    calls = ((short, think), (long, overflow), (short, think))
    replies = [asyncio.run(limit.complete(case, call)).reply for case, call in calls]
    assert replies == ["256", "256", str(THINKING_LIMIT)]


def test_a_long_prompt_does_not_lower_the_limit_for_shorter_ones() -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
    limit.thinks = True

    def answer(prompt: int) -> Callable[[int], Awaitable[Completion]]:
        async def call(max_tokens: int) -> Completion:
            if prompt + max_tokens > 8_192:
                error = (
                    f"Number of prompt tokens: {prompt} + max tokens value: {max_tokens} exceeds model max length: 8192"
                )
                return Completion(outcome="error", error=f"request: HTTP 400: {error}", attempts=1)
            return Completion(outcome="truncated", reply="Par", finish="length", attempts=1)

        return call

    long, short = make_case(0, filler="x" * 9_000), make_case(1)
    assert asyncio.run(limit.complete(long, answer(7_000))).max_tokens is None
    assert asyncio.run(limit.complete(short, answer(100))).max_tokens == THINKING_LIMIT


def test_only_one_number_of_a_message_is_tried() -> None:
    limit, asked = TokenLimit(Sampling(max_tokens=256, raises_limit=True)), list[int]()
    limit.thinks = True

    async def call(max_tokens: int) -> Completion:
        asked.append(max_tokens)
        if max_tokens > 4_096:
            error = f"max_tokens {max_tokens} > 4096 for model at http://gw:8000, trace 9001 12000 5123"
            return Completion(outcome="error", error=f"request: HTTP 400: {error}", attempts=1)
        return Completion(outcome="truncated", reply="Par", finish="length", attempts=1)

    asyncio.run(limit.complete(make_case(0), call))
    assert asked == [THINKING_LIMIT, 16_384, 12_000, 8_192]
    asyncio.run(limit.complete(make_case(1), call))
    assert asked[4:] == [THINKING_LIMIT]


@pytest.mark.parametrize("cap", ["must be <= 2000", "limit:2000", "maxTokenCount is not less or equal to 2000"])
def test_concurrent_repeats_of_a_case_use_the_limit_that_the_message_names(cap: str) -> None:
    limit = TokenLimit(Sampling(max_tokens=256, raises_limit=True))
    limit.thinks = True

    async def call(max_tokens: int) -> Completion:
        await asyncio.sleep(0)
        if max_tokens > 2_000:
            return Completion(outcome="error", error=f"request: HTTP 400: invalid_input: token {cap}", attempts=1)
        return Completion(outcome="ok", reply="Paris", finish="stop", attempts=1)

    async def repeat() -> list[Completion]:
        return await asyncio.gather(*(limit.complete(make_case(0), call) for _ in range(3)))

    assert [done.max_tokens for done in asyncio.run(repeat())] == [2_000] * 3
    assert limit.start == 2_000
