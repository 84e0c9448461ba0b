"""Test valid responses in all known formats: text, reasoning and usage."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from ragbed.models.failures import Failure
from ragbed.models.providers.openai import parse_chat
from tests.models.asking import KEY, QUICK, ask
from tests.servers.faulty_model import chat, reply, well, zipped


def _with(field: bytes, content: bytes = b"Paris") -> bytes:
    """Return a chat completion with another content and an additional field."""
    return chat().replace(b"Paris", content).replace(b"{", b"{" + field + b", " if field else b"{", 1)


GOOD: dict[str, tuple[bytes, str, str | None]] = {
    "plain": (chat(), "Paris", None),
    "empty": (chat(""), "", None),
    "parts": (chat([{"type": "text", "text": "Pa"}, {"type": "text", "text": "ris"}]), "Paris", None),
    "a thought as a part": (chat([{"type": "thinking", "thinking": "Hm"}, {"text": "Paris"}]), "Paris", "Hm"),
    "a thought of parts": (chat([{"thinking": [{"text": "Hm"}]}, "Paris"]), "Paris", "Hm"),
    "reasoning_content": (chat(reasoning_content="Hm"), "Paris", "Hm"),
    "reasoning": (chat(reasoning="Hm"), "Paris", "Hm"),
    "a thought in a field and in tags": (chat("<think>\nHm\n</think>\nParis", reasoning="\nHm\n"), "Paris", "\nHm\n"),
    "two thoughts": (chat("<think>So</think>Paris", reasoning="Hm"), "Paris", "Hm\n\nSo"),
    "reasoning of a wrong type": (chat(reasoning=[1]), "Paris", None),
    "<think>": (chat("<think>\nHm\n</think>\n\nParis"), "Paris", "Hm"),
    "usage of wrong types": (chat().replace(b"7", b'"7"').replace(b": 2", b": -2"), "Paris", None),
    "unknown fields": (chat(annotations=[{"x": 1}]), "Paris", None),
    "half a surrogate pair in an unknown field": (_with(b'"id": "\\ud800"'), "Paris", None),
    "half a surrogate pair in the answer": (_with(b"", b"Par\\uD83Dis"), "Par\N{REPLACEMENT CHARACTER}is", None),
    "a backslash before what looks like half a pair": (_with(b"", b"\\\\ud800"), "\\ud800", None),
    "a huge number among the counts": (chat().replace(b"7", b"1e999"), "Paris", None),
    "bytes that are not UTF-8 in the answer": (_with(b"", b"Par\xffis"), "Par\N{REPLACEMENT CHARACTER}is", None),
}  # fmt: skip


TRUNCATED: dict[str, tuple[bytes, str, str | None]] = {
    "an answer": (chat("Par", "length"), "Par", None),
    "a thought in a field": (chat(None, "length", reasoning_content="Hm"), "", "Hm"),
    "a thought with an empty answer": (chat("", "length", reasoning_content="Hm"), "", "Hm"),
    "no token left for a word": (chat(None, "length"), "", None),
    "<think> without an end": (chat("<think>Hm", "length"), "", "Hm"),
    "<think> without an end that stopped": (chat("<think>Hm", "stop"), "", "Hm"),
    "the limit under another name": (chat("Par", "max_tokens"), "Par", None),
    # https://github.com/anomalyco/opencode/issues/18813
    "the end of Mistral's context window": (chat("Par", "model_length"), "Par", None),
    "the end of Zhipu's context window": (chat("Par", "model_context_window_exceeded"), "Par", None),
    # https://docs.rs/openai-client-base/latest: reasons of OpenAI's Responses API, which proxies pass on
    "OpenAI's Responses API": (chat("Par", "max_output_tokens"), "Par", None),
    # https://googleapis.github.io/js-genai/release_docs/enums/types.FinishReason.html
    "Gemini": (chat("Par", "MAX_TOKENS"), "Par", None),
}


@pytest.mark.parametrize("name", TRUNCATED)
def test_a_response_that_ended_early_is_truncated(name: str) -> None:
    body, text, thought = TRUNCATED[name]
    done, _ = ask(reply(body))
    assert (done.outcome, done.reply, done.reasoning, done.attempts) == ("truncated", text, thought, 1)


def test_the_end_of_the_context_window_differs_from_the_token_limit() -> None:
    # https://docs.claude.com/en/api/handling-stop-reasons
    message = {"content": [{"type": "text", "text": "Par"}], "stop_reason": "model_context_window_exceeded"}
    done, _ = ask(reply(json.dumps(message).encode()), spec="anthropic/c")
    assert (done.outcome, done.reply, done.finish) == ("truncated", "Par", "model_context_window_exceeded")
    finish = [ask(reply(chat("Par", reason)))[0].finish for reason in ("model_length", "max_tokens")]
    assert finish == ["model_context_window_exceeded", "length"]


@pytest.mark.parametrize("reason", ["tool_calls", "eos", "COMPLETE", "OTHER", "LANGUAGE", "stop_sequence", "new", ""])
def test_a_response_with_another_finish_reason_is_complete(reason: str) -> None:
    assert parse_chat(chat("Paris", reason)).outcome == "ok"


@pytest.mark.parametrize("text", ["", " \n", None])
def test_hidden_reasoning_without_an_answer_is_an_error(text: str | None) -> None:
    details = b'"completion_tokens_details": {"reasoning_tokens": 2}, "completion_tokens"'
    with pytest.raises(Failure, match="a thought, but no text") as raised:
        parse_chat(chat(text).replace(b'"completion_tokens"', details))
    assert (raised.value.kind, raised.value.again) == ("empty", True)


def test_a_response_without_an_answer_keeps_its_thought_and_the_served_model() -> None:
    served = b'{"model": "m-2025", '
    for body in (chat("", reasoning_content="Hm"), chat("<think>Hm</think>"), chat(None, reasoning="Hm")):
        done, _ = ask(*[reply(served + body.removeprefix(b"{"))] * 3)
        assert done.served is not None
        assert (done.outcome, done.reasoning, done.served.model) == ("error", "Hm", "m-2025")
    message = {"content": [{"type": "thinking", "thinking": "Hm"}], "stop_reason": "end_turn", "model": "c-2025"}
    done, _ = ask(*[reply(json.dumps(message).encode())] * 3, spec="anthropic/c")
    assert done.served is not None
    assert (done.outcome, done.reasoning, done.served.model) == ("error", "Hm", "c-2025")


_EVENT = b'data: {"choices": [{"delta": {"content": "Par"}}]}\n\n'
_LAST_EVENT = b'data: {"choices": [{"delta": {"content": "is"}, "finish_reason": "stop"}]}\n\n'


# Some versions of SGLang send an empty finish_reason until the end: https://github.com/sgl-project/sglang/issues/3912
_UNFINISHED = _LAST_EVENT.replace(b'"stop"', b'""')


@pytest.mark.parametrize(
    "stream", [_EVENT, _UNFINISHED, _EVENT + _LAST_EVENT[:40], _EVENT + b'data: {"cho\n\n' + _LAST_EVENT]
)
def test_an_incomplete_stream_is_requested_again(stream: bytes) -> None:
    done, _ = ask(reply(stream), reply(_EVENT + _LAST_EVENT + b"data: [DONE]\n\n"))
    assert (done.outcome, done.reply, done.attempts) == ("ok", "Paris", 2)


def test_tokens_of_an_incomplete_stream_are_counted() -> None:
    usage = b'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}}\n\n'
    done, _ = ask(reply(_EVENT + usage), reply(_EVENT + _LAST_EVENT + usage))
    assert (done.reply, done.attempts, done.usage) == ("Paris", 2, {"in": 14, "out": 4})


def test_tokens_of_a_response_without_a_usable_text_are_counted() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    done, _ = ask(reply(json.dumps({"choices": [{"finish_reason": "stop"}], "usage": usage}).encode()))
    assert (done.outcome, done.attempts, done.usage) == ("error", 3, {"in": 21, "out": 6})
    message = {"content": [{"type": "text", "text": 1}], "usage": {"input_tokens": 7, "output_tokens": 2}}
    done, _ = ask(reply(json.dumps(message).encode()), spec="anthropic/c")
    assert (done.outcome, done.attempts, done.usage) == ("error", 3, {"in": 21, "out": 6})


@pytest.mark.parametrize("stream", [_EVENT + b"data: [DONE]\n\n", _EVENT + _LAST_EVENT.replace(b"is", b"", 1)])
def test_a_stream_is_complete_with_either_sign_of_its_end(stream: bytes) -> None:
    done, _ = ask(reply(stream))
    assert (done.outcome, done.reply, done.attempts) == ("ok", "Par", 1)


def test_the_first_choice_has_the_index_0() -> None:
    """Use the choice with index 0; before, the first in the list was used, here the reply Rome."""
    choices = [{"index": 1, "message": {"content": "Rome"}}, {"index": 0, "message": {"content": "Paris"}}]
    done, _ = ask(reply(json.dumps({"choices": [choice | {"finish_reason": "stop"} for choice in choices]}).encode()))
    assert done.reply == "Paris"


_ERROR_EVENT = b'data: {"error": {"message": "engine died", "type": "x", "code": %s}}\n\n'
_BARE_ERROR_EVENT = b'data: {"object": "error", "message": "engine died", "type": "x", "code": %s}\n\n'  # vLLM


@pytest.mark.parametrize("end", [b"", b"data: [DONE]\n\n"])
@pytest.mark.parametrize("event", [_ERROR_EVENT, _BARE_ERROR_EVENT])
@pytest.mark.parametrize(("code", "kind"), [(b"500", "server"), (b"null", "server"), (b'"429"', "rate")])
def test_an_error_after_a_part_of_a_stream_is_an_error(event: bytes, end: bytes, code: bytes, kind: str) -> None:
    stream = _EVENT + event % code + end
    done, _ = ask(reply(stream), reply(_EVENT + _LAST_EVENT))
    assert (done.outcome, done.reply, done.attempts) == ("ok", "Paris", 2)
    done, _ = ask(*[reply(stream)] * 6)
    assert (done.outcome, (done.error or "").partition(":")[0]) == ("error", kind)


def test_a_filter_that_interrupts_a_stream_is_not_an_answer() -> None:
    assert ask(reply(_EVENT + _ERROR_EVENT % b'"data_inspection_failed"'))[0].outcome == "filtered"


_NO_CHOICES = b'{"object": "chat.completion", "usage": {"prompt_tokens": 7, "total_tokens": 7}}'
_NO_CHOICES_EVENT = b'data: {"object": "chat.completion.chunk", "usage": {"prompt_tokens": 7, "total_tokens": 7}}\n\n'


@pytest.mark.parametrize(
    "body",
    [
        _NO_CHOICES.replace(b"{", b'{"choices": [], ', 1),
        _NO_CHOICES,
        _NO_CHOICES_EVENT + b"data: [DONE]\n\n",
        b'{"choices": [], "usage": {"prompt_tokens": 7}}',
    ],
)
def test_a_completion_without_choices_is_empty_and_its_tokens_are_counted(body: bytes) -> None:
    done, _ = ask(*[reply(body)] * 3)
    assert (done.error, done.usage) == ("empty: the response contains no choices", {"in": 21})


@pytest.mark.parametrize("choices", [b"[]", b'[{"message": {"content": "Blocked."}, "finish_reason": "stop"}]'])
@pytest.mark.parametrize("is_stream", [False, True])
def test_a_field_that_reports_a_filter_is_read(choices: bytes, is_stream: bool) -> None:
    # https://github.com/vercel/ai/issues/4235
    field = b'"prompt_feedback": {"block_reason": "OTHER"}'
    body = _NO_CHOICES.replace(b"{", b'{"choices": %s, %s, ' % (choices, field), 1)
    done, _ = ask(reply(b"data: %s\n\ndata: [DONE]\n\n" % body if is_stream else body))
    assert (done.outcome, done.attempts, done.usage) == ("filtered", 1, {"in": 7})


def test_feedback_without_a_block_does_not_filter() -> None:
    assert parse_chat(_with(b'"prompt_feedback": {"safety_ratings": []}')).reply == "Paris"


def test_a_stream_of_many_events_may_be_larger_than_another_response() -> None:
    thought = b'data: {"choices": [{"delta": {"content": null, "reasoning_content": "Hm "}}], "id": "%s"}\n\n' % (
        b"x" * 200
    )
    stream = thought * 18_000 + _EVENT + _LAST_EVENT
    done, _ = ask(reply(stream, Content_Type="text/event-stream"), patience=replace(QUICK, max_bytes=len(stream) // 8))
    assert (done.outcome, done.reply, len(done.reasoning or "")) == ("ok", "Paris", 54_000)


@pytest.mark.parametrize("name", GOOD)
def test_reasoning_is_separate_from_the_answer(name: str) -> None:
    """Score only the answer; before, the answer with a summary or redacted thinking was HmParis."""
    body, text, thought = GOOD[name]
    done, _ = ask(reply(body))
    assert (done.outcome, done.reply, done.reasoning, done.attempts) == ("ok", text, thought, 1)


def test_usage_finish_and_latency_are_kept() -> None:
    done, _ = ask(well)
    assert (done.usage, done.finish) == ({"in": 7, "out": 2}, "stop")
    assert done.latency_s is not None
    assert 0 < done.latency_s < 10


@pytest.mark.parametrize("coding", ["gzip", "GZIP"])
def test_a_compressed_response_is_uncompressed(coding: str) -> None:
    assert ask(zipped(chat(), coding))[0].reply == "Paris"


ANTHROPIC: dict[str, tuple[dict[str, object], tuple[str, str | None, str | None]]] = {
    "text": ({"content": [{"type": "text", "text": "Paris"}], "stop_reason": "end_turn"}, ("ok", "Paris", None)),
    "thinking": (
        {"content": [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Paris"}]},
        ("ok", "Paris", "Hm"),
    ),
    "thinking until the limit": (
        {"content": [{"type": "thinking", "thinking": "Hm"}], "stop_reason": "max_tokens"},
        ("truncated", "", "Hm"),
    ),
    "silence": ({"content": [], "stop_reason": "end_turn"}, ("ok", "", None)),
    "thinking and an empty text": (
        {"content": [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": ""}], "stop_reason": "end_turn"},
        ("error", None, "Hm"),
    ),
    "a pause": ({"content": [{"type": "text", "text": "Let me"}], "stop_reason": "pause_turn"}, ("error", None, None)),
    "refusal": ({"content": [], "stop_reason": "refusal"}, ("filtered", None, None)),
    "tools": ({"content": [{"type": "tool_use", "id": "1"}], "stop_reason": "tool_use"}, ("error", None, None)),
    "fields of wrong types that are not needed": (
        {
            "content": [{"type": "thinking", "thinking": None, "text": None}, {"type": "text", "text": "Paris"}],
            "stop_reason": 1,
        },
        ("ok", "Paris", None),
    ),
    "a text of a wrong type": ({"content": [{"type": "text", "text": 1}]}, ("error", None, None)),
    "omitted thinking": (
        {"content": [{"type": "thinking", "thinking": "", "signature": "x"}, {"type": "text", "text": "Paris"}]},
        ("ok", "Paris", ""),
    ),
    "redacted thinking until the limit": (
        {"content": [{"type": "redacted_thinking", "data": "x"}], "stop_reason": "max_tokens"},
        ("truncated", "", ""),
    ),
    "no content": ({"type": "message"}, ("error", None, None)),
}


@pytest.mark.parametrize("name", ANTHROPIC)
def test_responses_of_anthropics_messages_api(name: str) -> None:
    body, expected = ANTHROPIC[name]
    usage = {"usage": {"input_tokens": 7, "output_tokens": 2}}
    done, server = ask(reply(json.dumps(body | usage).encode()), spec="anthropic/c")
    assert (done.outcome, done.reply, done.reasoning) == expected
    assert server.seen[0].path == "/v1/v1/messages"
    assert f"x-api-key: {KEY}" in server.seen[0].head
    sent = json.loads(server.seen[0].body)
    assert (sent["system"], len(sent["messages"])) == ("Be brief.", 1)


@pytest.mark.parametrize("body", [b"<html>Please log in</html>", b'{"result": "Paris"}'])
def test_another_kind_of_response_suggests_to_check_the_base_url(body: bytes) -> None:
    done, _ = ask(reply(body))
    assert "check that the base URL belongs to an OpenAI-compatible API, e.g. http://host:8000/v1" in (done.error or "")


@pytest.mark.parametrize(
    "body",
    [
        b'{"type": "message", "content": [{"type": "text", "text": "Paris"}], "usage": {"input_tokens": 7}}',
        b'{"object": "response", "output": [], "usage": {"input_tokens": 7}}',
    ],
)
def test_a_response_of_another_api_suggests_to_check_the_base_url_and_its_tokens_are_counted(body: bytes) -> None:
    done, _ = ask(*[reply(body)] * 3)
    assert (done.error or "").startswith("protocol: the response contains no choices")
    assert "check that the base URL" in (done.error or "")
    assert done.usage == {"in": 21}


@pytest.mark.parametrize("field", [b'"score": 1e999', b'"note": "\\ud800"'])
def test_other_fields_of_an_answer_may_have_any_type(field: bytes) -> None:
    done, _ = ask(reply(b'{"answer": "Par\\ud800is", ' + field + b"}"), spec="http/{url}")
    assert (done.outcome, done.reply, done.attempts) == ("ok", "Par\N{REPLACEMENT CHARACTER}is", 1)
