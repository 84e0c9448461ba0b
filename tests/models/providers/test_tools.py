"""Tool calls in the formats of OpenAI and Anthropic.

The responses have the fields of the providers' documentation, as of November 2026: OpenAI's OpenAPI description
(schemas ChatCompletionTool, ChatCompletionMessageToolCall and ChatCompletionRequestToolMessage) and
https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls. The latter requires that all results
of a turn are in the next user message, before any text, and that failed calls have `is_error`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from ragbed.models.base import Model, Sampling
from ragbed.schema import Case, Completion, Message, ToolCall
from tests.models.asking import KEY, ask, case, model_at
from tests.servers.faulty_model import Fault, chat, reply

_CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"query":"news"}'}}
_LATER = (
    Message(role="assistant", content="Hm.", calls=(ToolCall(id="c1", name="search", arguments='{"query":"news"}'),)),
    Message(role="tool", content="Results:", call="c1"),
)


def _ask(fault: Fault, spec: str, asked: Case) -> tuple[Completion, dict[str, Any]]:
    done, server = ask(fault, spec=spec, asked=asked)
    return done, json.loads(server.seen[-1].body)


def _openai(fault: Fault, *more: Message) -> tuple[Completion, dict[str, Any]]:
    return _ask(fault, "openai-api/t/m", structs.replace(case(), tools=True, messages=case().messages + more))


def _message(*blocks: dict[str, Any], stop: str = "tool_use") -> bytes:
    fields = {"id": "msg_01Aq9w938a90dw8q", "type": "message", "role": "assistant", "model": "claude"}
    usage = {"input_tokens": 7, "output_tokens": 2}
    return json.dumps(fields | {"content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage}).encode()


def test_a_tool_call_of_openai_is_read_and_the_conversation_is_sent_back() -> None:
    done, body = _openai(reply(chat(None, "tool_calls", tool_calls=[_CALL])), *_LATER)
    assert (done.outcome, done.reply) == ("ok", "")
    assert done.calls == (ToolCall(id="c1", name="search", arguments='{"query":"news"}'),)
    (tool,) = body["tools"]
    assert (tool["type"], {*tool["function"]}) == ("function", {"name", "description", "parameters"})
    assert (tool["function"]["name"], tool["function"]["parameters"]["type"]) == ("search", "object")
    assert body["messages"][2:] == [
        {"role": "assistant", "content": "Hm.", "tool_calls": [_CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "Results:"},
    ]


@pytest.mark.parametrize(
    ("calls", "read"),
    [
        ([_CALL, _CALL | {"id": "c2"}], [("c1", "search"), ("c2", "search")]),
        ([{"function": {"name": "search", "arguments": {"query": "x"}}}], [("call-0", "search")]),
        ([7], [("call-0", "")]),
        ({"function": None}, [("call-0", "")]),
    ],
)
def test_unusual_tool_calls_are_read_without_an_error(calls: object, read: list[tuple[str, str]]) -> None:
    done, _ = _openai(reply(chat("", "tool_calls", tool_calls=calls)))
    assert [(call.id, call.name) for call in done.calls] == read
    assert all(json.loads(call.arguments) is not Ellipsis for call in done.calls)


def _stream(*deltas: dict[str, Any], finish: str = "tool_calls") -> bytes:
    """Return events with the fields of https://openrouter.ai/docs (ChatStreamToolCall): only `index` is required."""
    choices: list[dict[str, Any]] = [{"delta": delta, "finish_reason": None, "index": 0} for delta in deltas]
    choices.append({"delta": {}, "finish_reason": finish, "index": 0})
    return b"".join(b"data: %s\n\n" % json.dumps({"choices": [choice]}).encode() for choice in choices)


def _piece(arguments: str, index: int = 0, **fields: object) -> dict[str, Any]:
    function = {"name": fields.pop("name", None), "arguments": arguments}
    return {"tool_calls": [{"index": index, "type": "function", "function": function, **fields}]}


def test_a_streamed_tool_call_is_joined_from_its_pieces() -> None:
    stream = _stream(
        {"role": "assistant", "content": None, "reasoning_content": "Hm"},
        _piece("", id="c1", name="search", extra_content={"google": {"thought_signature": "x"}}),
        _piece('{"query":', id="", name=""),
        _piece('"news"}', id=None),
        _piece('{"query":"more"}', 1, id="c2", name="search"),
        {"tool_calls": [7]},
        {"tool_calls": None},
    )
    done, _ = _openai(reply(stream))
    assert (done.outcome, done.reply, done.reasoning) == ("ok", "", "Hm")
    assert done.calls == (
        ToolCall(
            id="c1",
            name="search",
            arguments='{"query":"news"}',
            extra={"extra_content": {"google": {"thought_signature": "x"}}, "reasoning_content": "Hm"},
        ),
        ToolCall(id="c2", name="search", arguments='{"query":"more"}'),
    )


def test_fields_of_the_provider_are_sent_back() -> None:
    extra = {"extra_content": {"google": {"thought_signature": "abc"}}}
    done, _ = _openai(reply(chat(None, "tool_calls", tool_calls=[_CALL | extra])))
    _, body = _openai(reply(chat()), Message(role="assistant", content="", calls=done.calls))
    assert body["messages"][2]["tool_calls"] == [_CALL | extra]


def test_the_reasoning_before_a_tool_call_is_sent_back() -> None:
    # https://api-docs.deepseek.com/guides/thinking_mode
    done, _ = _openai(reply(chat(None, "tool_calls", tool_calls=[_CALL], reasoning_content="Hm")))
    _, body = _openai(reply(chat()), Message(role="assistant", content="", calls=done.calls))
    assert body["messages"][2] == {
        "role": "assistant", "content": "", "reasoning_content": "Hm", "tool_calls": [_CALL]
    }  # fmt: skip


def test_a_key_in_a_tool_call_is_not_stored() -> None:
    call = _CALL | {"function": {"name": "search", "arguments": json.dumps({"query": KEY})}}
    for fields in ({"tool_calls": [call]}, {"tool_calls": [_CALL], "reasoning_content": KEY}):
        done, _ = _openai(reply(chat(None, "tool_calls", **fields)))
        assert [one.name for one in done.calls] == ["search"]
        assert KEY not in str(done)


def test_a_call_that_is_cut_off_is_truncated() -> None:
    done, _ = _openai(reply(chat(None, "length", tool_calls=[_CALL])))
    assert (done.outcome, done.calls) == ("truncated", ())


def test_tool_use_of_anthropic_is_read_and_results_of_one_turn_are_one_message() -> None:
    use = {"type": "tool_use", "id": "c1", "name": "search", "input": {"query": "news"}}
    two = structs.replace(_LATER[0], calls=(*_LATER[0].calls, ToolCall(id="c2", name="x", arguments="{}")))
    later = (two, _LATER[1], Message(role="tool", content="Error", call="c2", is_error=True))
    asked = structs.replace(case(), tools=True, messages=case().messages + later)
    done, body = _ask(reply(_message({"type": "text", "text": "Hm."}, use)), "anthropic/m", asked)
    assert (done.outcome, done.reply, done.calls) == ("ok", "Hm.", _LATER[0].calls)
    (tool,) = body["tools"]
    assert {*tool} == {"name", "description", "input_schema"}
    assert (tool["name"], tool["input_schema"]["type"], body["system"]) == ("search", "object", "Be brief.")
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Hm."}, use, use | {"id": "c2", "name": "x", "input": {}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "Results:"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "Error", "is_error": True},
            ],
        },
    ]


def test_thinking_models_of_anthropic_use_the_text_protocol() -> None:
    def calls_tools(**sampling: Any) -> bool:
        model: Model = model_at("http://127.0.0.1:9", spec="anthropic/m", sampling=Sampling(**sampling))
        return bool(getattr(model, "calls_tools"))  # noqa: B009

    assert calls_tools()
    assert calls_tools(thinking=False)
    assert not calls_tools(thinking=2_000)
