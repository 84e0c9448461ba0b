"""Options of requests: contradictions and wrong values are refused before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ragbed
from ragbed.errors import UsageError
from ragbed.runs.status import read_status
from tests.servers.function_model import ModelRequest, function_model

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown switch": ({"thinking": "maybe"}, "Use 'on', 'off' or 'budget=N'"),
    "an effort of two words": ({"reasoning_effort": "very high"}, "Use a level"),
    "a list as the body": ({"extra_body": "[1]"}, "is not a JSON object"),
    "no JSON": ({"extra_body": "{top_k: 1}"}, "is not valid JSON"),
    "a header with a line break": ({"header": "X-A: 1\r\nX-B: 2"}, "line break"),
    "a set": ({"extra_body": {"stop": {"a"}}}, "not valid JSON: .* set "),
    "messages": ({"extra_body": {"messages": []}}, "must not contain 'messages'"),
    "a temperature in the body": (
        {"extra_body": {"temperature": 1}},
        "must not contain 'temperature', which ragbed sets",
    ),
    "a header without a colon": ({"header": "X-A"}, "Name: value"),
    "no tokens": ({"max_tokens": 0}, "Use 'auto' or an integer"),
    "a warm temperature": ({"temperature": "warm"}, "Use 'none' or a number"),
    "a seed of a half": ({"seed_model": 0.5}, "is not valid. Use an integer"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_options_are_refused_before_anything_is_sent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options, reason = REFUSED[name]
    received: list[ModelRequest] = []

    def respond(request: ModelRequest) -> str:
        received.append(request)
        return "Paris"

    with function_model(respond) as url:
        monkeypatch.setenv("T_BASE_URL", url)
        with pytest.raises(UsageError, match=reason):
            ragbed.run("openai-api/t/m", "ragbed-mini-en_base", limit=1, progress=False, **options)
    assert not received


@pytest.mark.parametrize(
    ("model", "options", "reason"),
    [
        ("scripted/oracle", {"thinking": "off"}, "`thinking` has no effect on scripted/oracle"),
        ("bundled/smollm2", {"thinking": "budget=9"}, "thinking=budget=N has no effect on bundled/smollm2"),
        ("baseline/lexical", {"header": "X-A: 1"}, "`header` has no effect"),
        ("openai-api/t/m", {"thinking": "off"}, 'thinking=off has no known equivalent .* {"enable_thinking": false}'),
        ("vllm/m", {"thinking": "budget=9"}, 'thinking=budget=N has no .* {"enable_thinking": true}'),
        ("openai/gpt-5", {"thinking": "budget=9"}, r"thinking=budget=N has no known .* Use `reasoning_effort`\.$"),
        ("anthropic/claude", {"seed_model": 1}, "because its API has no seed"),
        ("nobody/m", {}, "is not a known provider"),
    ],
)
def test_an_option_without_effect_and_an_unknown_provider_are_refused(
    model: str, options: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "key-of-the-test-0001")
    monkeypatch.setenv("T_BASE_URL", "http://127.0.0.1:9")
    with pytest.raises(UsageError, match=reason):
        ragbed.run(model, "ragbed-mini-en_base", limit=1, progress=False, **options)


SENT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "deepseek": ({"thinking": "off"}, {"thinking": {"type": "disabled"}}),
    "zhipu": ({"thinking": "on"}, {"thinking": {"type": "enabled"}}),
    "dashscope": ({"thinking": "budget=64"}, {"enable_thinking": True, "thinking_budget": 64}),
    "siliconflow": ({"thinking": "off"}, {"enable_thinking": False}),
    "vllm": ({"thinking": "off"}, {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}),
    "openrouter": ({"thinking": "on", "reasoning_effort": "low"}, {"reasoning": {"enabled": True, "effort": "low"}}),
    "groq": ({"thinking": "off"}, {"reasoning_effort": "none"}),
    "gemini": (
        {"thinking": "budget=9"},
        {"extra_body": {"google": {"thinking_config": {"include_thoughts": True, "thinking_budget": 9}}}},
    ),
    "mistral": ({"seed_model": 3}, {"random_seed": 3}),
    "together": ({"extra_body": '{"top_k": 20}', "seed_model": 3}, {"top_k": 20, "seed": 3}),
}


@pytest.mark.parametrize("provider", SENT)
def test_options_become_the_parameters_of_the_provider(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options, expected = SENT[provider]
    received: list[ModelRequest] = []

    def respond(request: ModelRequest) -> str:
        received.append(request)
        return "Paris"

    with function_model(respond) as url:
        monkeypatch.setenv(f"{provider.upper()}_BASE_URL", url)
        monkeypatch.setenv(f"{provider.upper()}_API_KEY", "key-of-the-test-0001")
        chosen: dict[str, Any] = {"testbeds": "noise", "noise": 0, "limit": 1, "temperature": "none", "cache": "off"}
        chosen |= {"progress": False, "header": "X-Team: rag"}
        run = ragbed.run(f"{provider}/m", "ragbed-mini-en_base", **chosen, **options)
    body = received[0].body
    assert {name: body[name] for name in body if name not in ("messages", "model", "max_tokens", "top_p")} == expected
    assert received[0].headers["X-Team"] == "rag"
    (status,) = read_status(run.folder).models
    assert status.sent is not None
    assert status.sent["body"] == {name: body[name] for name in body if name != "messages"}


@pytest.mark.parametrize(("name", "expected"), [("X-City", "Barcelona"), ("X-Api-Token", "[key]")])
def test_only_headers_named_like_secrets_are_hidden_in_responses(
    name: str, expected: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with function_model(lambda _: "It is Barcelona.") as url:
        monkeypatch.setenv("T_BASE_URL", url)
        run = ragbed.run(
            "openai-api/t/m", "ragbed-mini-en_base", limit=1, testbeds="noise", noise=0, progress=False, cache="off",
            header=f"{name}: Barcelona", out=tmp_path / "run",
        )  # fmt: skip
    assert [trial["reply"] for trial in run.trials()] == [f"It is {expected}."]


def test_headers_count_for_the_cache_and_their_names_are_recorded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tenants: list[str | None] = []

    def respond(request: ModelRequest) -> str:
        tenants.append(request.headers.get("X-Tenant"))
        return "Paris"

    monkeypatch.setenv("RAGBED_CACHE_DIR", str(tmp_path / "cache"))
    with function_model(respond) as url:
        monkeypatch.setenv("T_BASE_URL", url)
        for number, header in enumerate(((), "X-Tenant: acme", "X-Tenant: globex", "x-tenant: acme", "X-Api-Token: c")):
            run = ragbed.run(
                "openai-api/t/m", "ragbed-mini-en_base", limit=1, testbeds="noise", noise=0, progress=False,
                header=header, cache="reuse", out=tmp_path / f"run-{number}",
            )  # fmt: skip
            (status,) = read_status(run.folder).models
            if number < 3:
                assert status.sent is not None
                assert status.sent.get("headers") == (["X-Tenant"] if header else None)
            else:
                assert (status.cached, status.sent) == (1, None)
    assert tenants == [None, "acme", "globex"]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if b"acme" in path.read_bytes() or b"globex" in path.read_bytes()]
