"""A prompt that does not fit into a model's context ends as too-long and is not sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

import pytest
from msgspec import structs

from ragbed.errors import UsageError
from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Model
from ragbed.schema import Completion, Message
from ragbed.text import estimate_tokens
from tests.models.asking import case, model_at, with_model
from tests.servers.faulty_model import Exchange, FaultServer, well

LONG = structs.replace(case(), messages=(Message(role="user", content="a new day " * 400),))
LLAMA = {
    "/v1/models": {"data": [{"id": "m", "owned_by": "llamacpp"}]},
    "/props": {"default_generation_settings": {"n_ctx": 1024}},
}


def listed(**entry: object) -> dict[str, object]:
    return {"/v1/models": {"data": [{"id": "m"} | entry]}}


def call(
    pages: Mapping[str, object], context_length: int | None = None, tokens: int | None = None
) -> tuple[Completion, int]:
    """Return the outcome of a prompt of 4,000 characters, and the number of chat requests that were sent.

    Args:
        pages: What the server reports.
        context_length: The context length that the user set.
        tokens: The number of tokens that the server's tokenizer counts; None if it has no tokenizer.
    """

    async def respond(exchange: Exchange) -> None:
        if exchange.path == "/tokenize":
            found = json.dumps({"tokens": [1] * (tokens or 0)}).encode()
            await exchange.send(404 if tokens is None else 200, found)
        else:
            await well(exchange)

    async def complete(model: Model) -> Completion:
        await model.identity()
        return await model.complete(LONG)

    async def talk() -> tuple[Completion, int]:
        server = FaultServer([respond], pages={path: json.dumps(page).encode() for path, page in pages.items()})
        async with server:
            done = await with_model(model_at(server.url, context_length=context_length), complete)
        return done, sum(exchange.path != "/tokenize" for exchange in server.seen)

    return asyncio.run(talk())


@pytest.mark.parametrize("name", ["max_model_len", "context_length", "context_window", "max_context_length"])
def test_a_prompt_longer_than_the_reported_context_is_not_sent(name: str) -> None:
    done, sent = call(listed(**{name: 1500}))
    assert (done.outcome, done.attempts, sent) == ("error", 0, 0)
    assert done.error == (
        "too-long: the prompt (up to 1,366 tokens, an upper estimate) and the response (up to 256 tokens) do not fit "
        "in "
        "the context window of 1,500 tokens"
    )
    assert call(listed(**{name: 1700}))[0].outcome == "ok"


@pytest.mark.parametrize(("tokens", "outcome"), [(700, "ok"), (900, "error")])
def test_the_servers_tokenizer_decides_if_there_is_one(tokens: int, outcome: str) -> None:
    for reported in (listed(max_model_len=1024), LLAMA):
        done, _ = call(reported, tokens=tokens)
        assert done.outcome == outcome
        assert "estimate" not in (done.error or "")


def test_the_users_context_length_replaces_the_reported_one() -> None:
    assert call(listed(max_model_len=1024), context_length=8000)[0].outcome == "ok"
    assert call({}, context_length=1024)[0].outcome == "error"


@pytest.mark.parametrize(("tokens", "outcome"), [(700, "ok"), (900, "error")])
def test_the_servers_tokenizer_is_used_with_the_users_context_length(tokens: int, outcome: str) -> None:
    for reported in (listed(max_model_len=8000), LLAMA):
        done, _ = call(reported, context_length=1024, tokens=tokens)
        assert done.outcome == outcome
        assert "estimate" not in (done.error or "")


@pytest.mark.parametrize("value", [None, "4096", -1, 0, 1.5, {}])
def test_an_unknown_context_sends_every_prompt(value: object) -> None:
    assert call(listed(max_model_len=value))[0].outcome == "ok"


def test_models_without_a_context_refuse_the_option() -> None:
    with pytest.raises(UsageError, match="`context_length` has no effect on scripted/oracle"):
        open_model("scripted/oracle", lambda rest: ModelConfig(rest, {}, context_length=100))


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abc", 1), ("abcd", 2), ("新闻", 5), ("新", 3)])
def test_the_upper_estimate_counts_characters(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens
