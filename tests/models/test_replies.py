"""What servers reply when all is well, in every form that is known: text, thought and counts."""

from __future__ import annotations

import json

import pytest

from tests.models.asking import KEY, ask
from tests.models.fault_server import chat, reply, well, zipped

GOOD: dict[str, tuple[bytes, str, str | None]] = {
    "plain": (chat(), "Paris", None),
    "empty": (chat(""), "", None),
    "cut at the limit": (chat("Par", "length"), "Par", None),
    "parts": (chat([{"type": "text", "text": "Pa"}, {"type": "text", "text": "ris"}]), "Paris", None),
    "a thought as a part": (chat([{"type": "thinking", "thinking": "Hm"}, {"text": "Paris"}]), "Paris", "Hm"),
    "a thought of parts": (chat([{"thinking": [{"text": "Hm"}]}, "Paris"]), "Paris", "Hm"),
    "reasoning_content": (chat(reasoning_content="Hm"), "Paris", "Hm"),
    "reasoning": (chat(reasoning="Hm"), "Paris", "Hm"),
    "reasoning of a wrong type": (chat(reasoning=[1]), "Paris", None),
    "thought without an answer": (chat(None, "length", reasoning_content="Hm"), "", "Hm"),
    "no token left for a word": (chat(None, "length"), "", None),
    "<think>": (chat("<think>\nHm\n</think>\n\nParis"), "Paris", "Hm"),
    "<think> without an end": (chat("<think>Hm", "length"), "", "Hm"),
    "</think> without a start": (chat("Hm</think>Paris"), "Paris", "Hm"),
    "an empty thought": (chat("<think>\n\n</think>\n\nParis"), "Paris", None),
    "a tag in the answer": (chat("Write <think> and </think>."), "Write <think> and </think>.", None),
    "key twice, the last counts": (chat().replace(b'"content"', b'"content": "Rome", "content"'), "Paris", None),
    "usage of wrong types": (chat().replace(b"7", b'"7"').replace(b": 2", b": -2"), "Paris", None),
    "unknown fields": (chat(annotations=[{"x": 1}]), "Paris", None),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_thought_stands_apart_from_the_reply(name: str) -> None:
    body, text, thought = GOOD[name]
    done, _ = ask(reply(body))
    assert (done.outcome, done.reply, done.reasoning, done.attempts) == ("ok", text, thought, 1)


def test_usage_finish_and_latency_are_kept() -> None:
    done, _ = ask(well)
    assert (done.usage, done.finish) == ({"in": 7, "out": 2}, "stop")
    assert done.latency_s is not None
    assert 0 < done.latency_s < 10


@pytest.mark.parametrize("coding", ["gzip", "GZIP"])
def test_a_packed_reply_is_unpacked(coding: str) -> None:
    assert ask(zipped(chat(), coding))[0].reply == "Paris"


ANTHROPIC: dict[str, tuple[dict[str, object], tuple[str, str | None, str | None]]] = {
    "text": ({"content": [{"type": "text", "text": "Paris"}], "stop_reason": "end_turn"}, ("ok", "Paris", None)),
    "thinking": (
        {"content": [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Paris"}]},
        ("ok", "Paris", "Hm"),
    ),
    "thinking until the limit": (
        {"content": [{"type": "thinking", "thinking": "Hm"}], "stop_reason": "max_tokens"},
        ("ok", "", "Hm"),
    ),
    "silence": ({"content": [], "stop_reason": "end_turn"}, ("ok", "", None)),
    "refusal": ({"content": [], "stop_reason": "refusal"}, ("refused", None, None)),
    "tools": ({"content": [{"type": "tool_use", "id": "1"}], "stop_reason": "tool_use"}, ("error", None, None)),
    "no content": ({"type": "message"}, ("error", None, None)),
}


@pytest.mark.parametrize("name", ANTHROPIC)
def test_anthropics_messages(name: str) -> None:
    body, expected = ANTHROPIC[name]
    usage = {"usage": {"input_tokens": 7, "output_tokens": 2}}
    done, server = ask(reply(json.dumps(body | usage).encode()), spec="anthropic/c")
    assert (done.outcome, done.reply, done.reasoning) == expected
    assert server.seen[0].path == "/v1/v1/messages"
    assert f"x-api-key: {KEY}" in server.seen[0].head
    sent = json.loads(server.seen[0].body)
    assert (sent["system"], len(sent["messages"])) == ("Be brief.", 1)


@pytest.mark.parametrize("body", [b"<html>Please log in</html>", b'{"result": "Paris"}'])
def test_what_speaks_otherwise_leads_to_the_question_of_the_address(body: bytes) -> None:
    done, _ = ask(reply(body))
    assert "is the address that of an OpenAI-compatible API, as http://host:8000/v1?" in (done.error or "")
