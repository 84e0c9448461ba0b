"""The confidence of a response is the mean probability of its answer's tokens."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from ragbed.models.logprobs import read_confidence
from ragbed.models.providers.openai import parse_chat


def _content(*tokens: tuple[str, float]) -> dict[str, Any]:
    return {"content": [{"token": text, "logprob": value, "bytes": [*text.encode()]} for text, value in tokens]}


_HALF, _QUARTER = math.log(0.5), math.log(0.25)


@pytest.mark.parametrize(
    ("logprobs", "reply", "expected"),
    [
        (_content(("New", _HALF), (" York", _HALF)), "New York", 0.5),
        (_content(("New", _HALF), (" York", _QUARTER * 2 - _HALF)), "New York", 0.25),
        (_content(("<think>x</think>", -9.0), ("\n", -9.0), ("Rome", _HALF)), "Rome", 0.5),
        ({"tokens": ["New", " York"], "token_logprobs": [_HALF, _HALF]}, "New York", 0.5),
        ({"content": [{"bytes": [0xE5, 0x8C], "logprob": _HALF}, {"bytes": [0x97], "logprob": _HALF}]}, "北", 0.5),
        (_content(("Rome", 0.0)), "Rome", 1.0),
        (None, "Rome", "no-logprobs"),
        ({"content": None}, "Rome", "no-logprobs"),
        ({"content": []}, "Rome", "no-logprobs"),
        ([1, 2], "Rome", "no-logprobs"),
        (_content(("Paris", _HALF)), "Rome", "other-tokens"),
        (_content(("Rome", 0.7)), "Rome", "invalid-logprobs"),
        ({"content": [{"token": "Rome", "logprob": None}]}, "Rome", "invalid-logprobs"),
        ({"content": [{"token": 7, "logprob": -1}]}, "Rome", "other-tokens"),
    ],
)  # fmt: skip
def test_every_form_has_a_confidence_or_a_named_problem(logprobs: object, reply: str, expected: float | str) -> None:
    found = read_confidence(logprobs, reply)
    assert found == (expected if isinstance(expected, str) else pytest.approx(expected))


def test_a_chat_completion_has_a_confidence_only_if_it_was_requested() -> None:
    choice = {"message": {"content": "Rome"}, "finish_reason": "stop", "logprobs": _content(("Rome", _HALF))}
    body = msgspec.json.encode({"choices": [choice]})
    assert parse_chat(body).confidence is None
    assert parse_chat(body, logprobs=True).confidence == pytest.approx(0.5)


def test_a_streamed_chat_completion_has_the_confidence_of_all_its_events() -> None:
    choices: list[dict[str, Any]] = [
        {"delta": {"content": "New"}, "logprobs": _content(("New", _HALF))},
        {"delta": {"content": " York"}, "logprobs": _content((" York", _QUARTER * 2 - _HALF))},
        {"delta": {}, "finish_reason": "stop", "logprobs": None},
    ]
    body = b"".join(b"data: %s\n\n" % msgspec.json.encode({"choices": [choice]}) for choice in choices)
    done = parse_chat(body, logprobs=True)
    assert done.reply == "New York"
    assert done.confidence == pytest.approx(0.25)
