"""Parameters that a server rejects are learned once; those of the user are never changed."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import ragbed
from ragbed.errors import RagbedError
from ragbed.models.failures import Failure, from_status
from ragbed.models.providers import negotiation as negotiation_module
from ragbed.models.providers.negotiation import Negotiation
from ragbed.runs.status import read_status
from tests.servers.function_model import ModelRequest, function_model

_CHOSEN: dict[str, Any] = {"testbeds": "noise", "noise": 0, "limit": 4, "cache": "off", "progress": False}

BODY: dict[str, Any] = {"model": "m", "messages": [], "temperature": 0.0, "top_p": 1.0, "max_tokens": 256}
_STREAM = {name: value for name, value in BODY.items() if name not in ("model", "messages")}
_STREAM |= {"stream": True, "stream_options": {"include_usage": True}}


def _reject_with(message: str, code: str | None = None, param: str | None = None) -> object:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


_WITHOUT_TEMPERATURE = {"top_p": 1.0, "max_tokens": 256}
# For each rejection its source (an issue on GitHub, or the server's documentation) and its body, the values that are
# sent instead of those in BODY, and what is sent next.
REJECTED: dict[str, tuple[str, object, dict[str, Any], dict[str, Any]]] = {
    "OpenAI, max_tokens": (
        "owndev/Open-WebUI-Functions/issues/136",
        _reject_with("Use 'max_completion_tokens' instead.", "unsupported_parameter", "max_tokens"),
        {}, {"temperature": 0.0, "top_p": 1.0, "max_completion_tokens": 256},
    ),
    "Azure, an unknown name": (
        "openai/openai-python/issues/1724",
        _reject_with("Unrecognized request argument supplied: max_completion_tokens"),
        {"max_tokens": None, "max_completion_tokens": 256}, {"temperature": 0.0, "top_p": 1.0, "max_tokens": 256},
    ),
    "OpenAI, temperature": (
        "Azure/agentops/issues/151", _reject_with("Does not support 0.7.", "unsupported_value", "temperature"),
        {"temperature": 0.7}, _WITHOUT_TEMPERATURE,
    ),
    "Anthropic, temperature": (
        "altic-dev/FluidVoice/issues/285", _reject_with("temperature is deprecated for this model."),
        {"temperature": 0.7}, _WITHOUT_TEMPERATURE,
    ),
    "Anthropic, a thinking model": (
        "mnfst/modelparams.dev/issues/214", _reject_with("`temperature` may only be set to 1 when thinking is enabled"),
        {"temperature": 0.7}, _WITHOUT_TEMPERATURE,
    ),
    "Anthropic, both": (
        "anomalyco/opencode/issues/28930",
        _reject_with("`temperature` and `top_p` cannot both be specified for this model. Please use only one."),
        {"top_p": 0.9}, {"temperature": 0.0, "max_tokens": 256},
    ),
    "FastAPI, an unknown field": (
        "https://docs.pydantic.dev/latest/errors/validation_errors/#extra_forbidden",
        {"detail": [{"type": "extra_forbidden", "loc": ["body", "top_p"], "msg": "Extra inputs are not permitted"}]},
        {}, {"temperature": 0.0, "max_tokens": 256},
    ),
    "DashScope": (
        "infiniflow/ragflow/issues/8972",
        _reject_with("parameter.enable_thinking must be set to false for non-streaming calls"), {}, _STREAM,
    ),
    "DashScope in Chinese": (
        "alibaba/spring-ai-alibaba/issues/867",
        _reject_with("parameter.enable_thinking必须设置为false才能进行非流式调用"), {}, _STREAM,
    ),
    "DashScope, QwQ": (
        "infiniflow/ragflow/issues/5912", _reject_with("This model only support stream mode"), {}, _STREAM
    ),
    "DashScope, Omni": (
        "microsoft/UFO/issues/215", _reject_with("This model does not support non-streaming output."), {}, _STREAM
    ),
    "Fireworks": (
        "nextlevelbuilder/goclaw/pull/660",
        _reject_with("Requests with max_tokens > 4096 must have stream=true", "BAD_REQUEST", "max_tokens"), {}, _STREAM,
    ),
}  # fmt: skip


def _rejection(name: str) -> Failure:
    return from_status(400, json.dumps(REJECTED[name][1], ensure_ascii=False))


def _learn(name: str) -> dict[str, Any]:
    """Return what is sent after a rejection, without the model and the messages."""
    sent = {field: value for field, value in (BODY | REJECTED[name][2]).items() if value is not None}
    negotiation = Negotiation()
    negotiation.learn(_rejection(name), sent)
    return {field: value for field, value in negotiation.apply(sent).items() if field not in ("model", "messages")}


@pytest.mark.parametrize("name", REJECTED)
def test_a_rejected_parameter_is_left_out_renamed_or_set(name: str) -> None:
    assert _learn(name) == REJECTED[name][3]


def test_each_phrase_decides_a_rejection_with_a_source(monkeypatch: pytest.MonkeyPatch) -> None:
    before, unneeded = {name: _learn(name) for name in REJECTED}, list[str]()
    for table in ("_UNSUPPORTED", "_STREAM_ONLY"):
        phrases = getattr(negotiation_module, table)
        for phrase in phrases:
            with monkeypatch.context() as changed:
                changed.setattr(negotiation_module, table, tuple(one for one in phrases if one != phrase))
                unneeded += [phrase] if before == {name: _learn(name) for name in REJECTED} else []
    assert unneeded == []


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, '{"error":{"message":"messages: text content blocks must be non-empty","type":"invalid_request_error"}}'),
        (400, '{"error":{"message":"max_tokens is too large: 9. The model supports at most 8.","param":"max_tokens"}}'),
        (400, '{"error":{"message":"stream_options is not supported"}}'),
        (400, '{"error":{"message":"Streaming is not supported for this model"}}'),
        (400, '{"error":{"message":"temperature: 1.5 is out of range, must be between 0 and 1"}}'),
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


def test_changes_from_an_earlier_session_leave_out_what_the_user_set() -> None:
    negotiation = Negotiation(frozenset({"temperature"}))
    negotiation.add({"temperature": None, "top_p": None})
    assert negotiation.learned == {"top_p": None}


def test_of_two_parameters_the_one_that_the_user_did_not_set_is_left_out() -> None:
    negotiation = Negotiation(frozenset({"top_p"}))
    assert negotiation.learn(_rejection("Anthropic, both"), BODY | {"top_p": 0.5})
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
            return 400, {"error": {"message": "This model only support stream mode."}}
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
    rejection = _rejection("DashScope")
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
