"""Parameters that a server rejects are learned once; those of the user are never changed."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import ragbed
from ragbed.errors import RagbedError
from ragbed.models.failures import from_status
from ragbed.models.providers.negotiation import Negotiation
from ragbed.runs.status import read_status
from tests.servers.function_model import ModelRequest, function_model

_CHOSEN: dict[str, Any] = {"testbeds": "noise", "noise": 0, "limit": 4, "cache": "off", "progress": False}

BODY: dict[str, Any] = {"model": "m", "messages": [], "temperature": 0.0, "top_p": 1.0, "max_tokens": 256}
_STREAMED = BODY | {"stream": True, "stream_options": {"include_usage": True}}
_OPENAI = '{{"error": {{"message": "{}", "type": "invalid_request_error", "param": {}, "code": {}}}}}'
# Messages of providers, with what is left of the body.
REJECTED: dict[str, tuple[int, str, dict[str, Any]]] = {
    "OpenAI, max_tokens": (
        400,
        _OPENAI.format(
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            '"max_tokens"',
            '"unsupported_parameter"',
        ),
        {"temperature": 0.0, "top_p": 1.0, "max_completion_tokens": 256},
    ),
    "OpenAI, temperature": (
        400,
        _OPENAI.format("Unsupported value: 'temperature' does not support 0.", '"temperature"', '"unsupported_value"'),
        {"top_p": 1.0, "max_tokens": 256},
    ),
    "Anthropic, temperature": (
        400,
        '{"type":"error","error":{"type":"invalid_request_error","message":"`temperature` is deprecated."}}',
        {"top_p": 1.0, "max_tokens": 256},
    ),
    "Anthropic, both": (
        400,
        '{"type":"error","error":{"type":"invalid_request_error","message":"`temperature` and `top_p` cannot both be '
        'specified for this model. Please use only one."}}',
        {"temperature": 0.0, "max_tokens": 256},
    ),
    "FastAPI, an unknown field": (
        422,
        '{"detail":[{"type":"extra_forbidden","loc":["body","top_p"],"msg":"Extra inputs are not permitted"}]}',
        {"temperature": 0.0, "max_tokens": 256},
    ),
    "DashScope": (
        400,
        _OPENAI.format("parameter.enable_thinking must be set to false for non-streaming calls", "null",
                       '"invalid_parameter_error"'),
        _STREAMED,
    ),
    # https://github.com/infiniflow/ragflow/issues/5912
    "DashScope, QwQ": (
        400,
        _OPENAI.format("This model only support stream mode, please enable the stream parameter to access the model. ",
                       "null", '"invalid_parameter_error"'),
        _STREAMED,
    ),
    "Fireworks": (
        400,
        _OPENAI.format("Requests with max_tokens > 4096 must have stream=true", "null", "null"),
        _STREAMED,
    ),
    "Azure, an unknown name": (
        400,
        _OPENAI.format("Unrecognized request argument supplied: max_tokens", "null", "null"),
        {"temperature": 0.0, "top_p": 1.0, "max_completion_tokens": 256},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REJECTED)
def test_a_rejected_parameter_is_left_out_renamed_or_set(name: str) -> None:
    status, message, expected = REJECTED[name]
    negotiation = Negotiation()
    assert negotiation.apply(BODY) == BODY
    assert negotiation.learn(from_status(status, message), BODY)
    sent = negotiation.apply(BODY)
    assert sent == {"model": "m", "messages": []} | expected
    assert negotiation.describe()


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, '{"error":{"message":"messages: text content blocks must be non-empty","type":"invalid_request_error"}}'),
        (400, '{"error":{"message":"max_tokens is too large: 9. The model supports at most 8.","param":"max_tokens"}}'),
        (400, '{"error":{"message":"stream_options is not supported"}}'),
        (400, '{"error":{"message":"Streaming is not supported for this model"}}'),
        (400, '{"error":{"message":"该模型不支持流式调用"}}'),
        (400, '{"error":{"message":"Input rejected near: its streaming service needs only 2 million users"}}'),
        (400, '{"error":{"message":"response_format json_schema requires stream=false"}}'),
        (400, '{"error":{"message":"temperature: 1.5 is out of range, must be between 0 and 1"}}'),
        (400, '{"error":{"message":"top_p: 0.5 is out of range, must be between 0 and 1"}}'),
        (400, '{"error":{"param":"top_p","message":"temperature: 1.5 is out of range, must be between 0 and 1"}}'),
        (401, '{"error":{"message":"temperature of the key is wrong","code":"invalid_api_key"}}'),
        (429, '{"error":{"message":"temperature","code":"rate_limit_exceeded"}}'),
        (500, '{"error":{"message":"temperature"}}'),
    ],
)
def test_other_failures_change_nothing(status: int, message: str) -> None:
    negotiation, body = Negotiation(), BODY | {"temperature": 1.5, "top_p": 0.5}
    assert not negotiation.learn(from_status(status, message), body)
    assert negotiation.apply(body) == body


def test_a_parameter_that_the_user_set_is_never_changed() -> None:
    negotiation = Negotiation(frozenset({"temperature"}))
    assert not negotiation.learn(from_status(*REJECTED["OpenAI, temperature"][:2]), BODY)


def test_changes_from_an_earlier_session_leave_out_what_the_user_set() -> None:
    negotiation = Negotiation(frozenset({"temperature"}))
    negotiation.add({"temperature": None, "top_p": None})
    assert negotiation.learned == {"top_p": None}


def test_of_two_parameters_the_one_that_the_user_did_not_set_is_left_out() -> None:
    negotiation = Negotiation(frozenset({"top_p"}))
    assert negotiation.learn(from_status(*REJECTED["Anthropic, both"][:2]), BODY | {"top_p": 0.5})
    assert negotiation.describe() == "temperature is omitted"


@pytest.mark.parametrize(
    ("options", "sent"), [({"temperature": 0}, 0), ({"temperature": 0.5}, 0.5), ({"top_p": 0.9}, 0.9)]
)
def test_a_run_stops_if_the_server_rejects_a_value_that_the_user_set(
    options: dict[str, Any], sent: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,) = options
    received: list[Any] = []

    def respond(request: ModelRequest) -> str | tuple[int, object]:
        received.append(request.body.get(name))
        return "Paris" if received[-1] is None else _reject(name)

    with function_model(respond) as url:
        monkeypatch.setenv("T_BASE_URL", url)
        with pytest.raises(RagbedError, match="temperature=none omits the temperature"):
            _run(**options)
        assert set(received) == {sent}
        run = _run()
    assert run.outcomes == {"ok": 4}
    (status,) = read_status(run.folder).models
    assert status.sent is not None
    assert status.sent["negotiated"] == f"{name} is omitted"


def _reject(name: str) -> tuple[int, object]:
    return 400, {"error": {"message": f"'{name}' is not supported.", "param": name, "code": "unsupported_parameter"}}


def _run(**options: Any) -> ragbed.Run:
    return ragbed.run("openai-api/t/m", "ragbed-mini-en_base", **(_CHOSEN | options))


def test_a_value_that_the_user_set_is_not_read_from_the_cache_of_a_run_without_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    received: list[dict[str, Any]] = []

    def respond(request: ModelRequest) -> str | tuple[int, object]:
        received.append(request.body)
        return _reject("temperature") if "temperature" in request.body else "Paris"

    monkeypatch.setenv("RAGBED_CACHE_DIR", str(tmp_path))
    with function_model(respond) as url:
        monkeypatch.setenv("T_BASE_URL", url)
        assert _run(cache="reuse").outcomes == {"ok": 4}
        with pytest.raises(RagbedError, match="temperature=none omits the temperature"):
            _run(cache="reuse", temperature=0)
        received.clear()
        assert _run(cache="reuse").outcomes == {"ok": 4}
    assert received == []


def test_a_server_that_streams_without_stream_options_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def respond(request: ModelRequest) -> tuple[int, object]:
        if not request.body.get("stream"):
            return 400, {"error": {"message": "This model only supports stream mode."}}
        if "stream_options" in request.body:
            return _reject("stream_options")
        choice = {"index": 0, "delta": {"role": "assistant", "content": "Paris"}, "finish_reason": "stop"}
        return 200, f"data: {json.dumps({'choices': [choice]})}\n\ndata: [DONE]\n\n".encode()

    with function_model(respond) as url:
        monkeypatch.setenv("T_BASE_URL", url)
        run = _run()
    assert run.outcomes == {"ok": 4}
    (status,) = read_status(run.folder).models
    assert status.sent is not None
    assert status.sent["negotiated"] == "stream is set to true, stream_options is omitted"


def test_a_server_that_streams_thoughts_is_used_if_the_user_has_turned_thinking_on() -> None:
    fields = {"enable_thinking": True}
    negotiation = Negotiation(frozenset(fields))
    rejection = from_status(*REJECTED["DashScope"][:2])
    assert negotiation.learn(rejection, BODY | fields)
    assert negotiation.apply(BODY | fields)["stream"] is True
    assert not negotiation.learn(rejection, negotiation.apply(BODY | fields))


def test_the_recorded_request_follows_a_server_that_goes_back_to_the_former_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    received: list[dict[str, Any]] = []

    def respond(request: ModelRequest) -> str | tuple[int, object]:
        received.append(request.body)
        wrong = "max_tokens" if len(received) < 6 else "max_completion_tokens"
        return _reject(wrong) if wrong in request.body else "Paris"

    with function_model(respond) as url, caplog.at_level(logging.WARNING, "ragbed"):
        monkeypatch.setenv("T_BASE_URL", url)
        run = _run(limit=9, max_connections=1)
    (status,) = read_status(run.folder).models
    expected = {name: value for name, value in received[-1].items() if name != "messages"}
    assert "max_tokens" in expected
    assert status.sent == {"body": expected, "negotiated": ""}
    assert [text for text in caplog.messages if "The server for" in text] == [
        "The server for openai-api/t/m does not accept the default parameters. In all requests to it, max_tokens is "
        "sent as max_completion_tokens.",
    ]


def test_a_server_that_rejects_both_names_gets_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[dict[str, Any]] = []

    def respond(request: ModelRequest) -> tuple[int, object]:
        received.append(request.body)
        return _reject("max_tokens" if "max_tokens" in request.body else "max_completion_tokens")

    with function_model(respond) as url:
        monkeypatch.setenv("T_BASE_URL", url)
        monkeypatch.setenv("T_API_KEY", "key-of-the-test-0001")
        with pytest.raises(RagbedError, match="rejects every request"):
            _run(limit=9)
    bodies = [json.dumps(body, sort_keys=True) for body in received]
    assert len(set(bodies)) == len(bodies)
