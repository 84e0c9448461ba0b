"""A prompt that does not fit into the context length that the user set ends as too-long and is not sent."""

from __future__ import annotations

import pytest
from msgspec import structs

from ragbed.errors import UsageError
from ragbed.models import ModelConfig, open_model
from ragbed.schema import Message
from ragbed.text import estimate_tokens
from tests.models.asking import ask, case
from tests.servers.faulty_model import well

LONG = structs.replace(case(), messages=(Message(role="user", content="a new day " * 400),))


@pytest.mark.parametrize(("context_length", "sent"), [(1_500, 0), (1_700, 1), (None, 1)])
def test_a_prompt_longer_than_the_context_is_not_sent(context_length: int | None, sent: int) -> None:
    done, server = ask(well, asked=LONG, context_length=context_length)
    assert (done.outcome, done.attempts, len(server.seen)) == (("ok", 1, 1) if sent else ("error", 0, 0))
    if not sent:
        assert done.error == (
            "too-long: the prompt (up to 1,366 tokens, an upper estimate) and the response (up to 256 tokens) do not "
            "fit in the context window of 1,500 tokens"
        )


def test_models_without_a_context_refuse_the_option() -> None:
    with pytest.raises(UsageError, match="`context_length` has no effect on scripted/oracle"):
        open_model("scripted/oracle", lambda rest: ModelConfig(rest, {}, context_length=100))


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abc", 1), ("abcd", 2), ("新闻", 5), ("新", 3)])
def test_the_upper_estimate_counts_characters(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens
