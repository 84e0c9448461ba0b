"""Test HTTP models: requests, identity, several servers, and cases that are set aside."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from ragbed.errors import UsageError
from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Model
from ragbed.models.providers.anthropic import AnthropicModel
from ragbed.models.providers.dialects import COMPATIBLE
from ragbed.models.providers.http_model import ServiceConfig
from ragbed.models.providers.openai import OpenAIModel
from ragbed.schema import Completion
from tests.models.asking import KEY, QUICK, ask, case, model_at, with_model
from tests.servers.faulty_model import Exchange, FaultServer, hang, status, well


def identity_at(pages: Mapping[str, object], spec: str = "openai-api/t/m") -> str:
    async def talk() -> str:
        raw = {path: page if isinstance(page, bytes) else json.dumps(page).encode() for path, page in pages.items()}
        async with FaultServer([well], pages=raw) as server:
            return await with_model(model_at(server.url, spec=spec), lambda model: model.identity())

    return asyncio.run(talk())


def listed(**entry: object) -> dict[str, object]:
    return {"/v1/models": {"data": [{"id": "other"}, {"id": "m"} | entry]}}


VLLM = {"root": "org/weights", "max_model_len": 4096}


def test_identity_does_not_change_between_requests() -> None:
    first = identity_at(listed(**VLLM, created=1, permission=[{"id": "a"}]))
    assert first
    assert identity_at(listed(**VLLM, created=2, permission=[{"id": "b"}])) == first


@pytest.mark.parametrize("change", [{"root": "org/other"}, {"max_model_len": 8192}, {"meta": {"n_params": 7}}])
def test_identity_changes_with_the_model(change: dict[str, object]) -> None:
    assert identity_at(listed(**(VLLM | change))) != identity_at(listed(**VLLM))


def test_the_identity_of_ollama_has_the_digest_of_the_weights() -> None:
    def identity_of(digest: str) -> str:
        return identity_at({"/api/tags": {"models": [{"name": "m:latest", "digest": digest}]}}, "ollama/m")

    assert identity_of("a")
    assert identity_of("a") != identity_of("b")


def test_the_name_alone_is_no_identity() -> None:
    """Return no identity; before, it was a hash of the name, which a swapped model has too."""
    assert identity_at(listed(object="model", owned_by="test", root="m", parent=None)) == ""


@pytest.mark.parametrize(
    ("name", "is_dated"),
    [
        ("gpt-4o-mini-2024-07-18", True),
        ("claude-sonnet-4-20250514", True),
        ("gpt-4-0613", True),
        ("gemini-2.0-flash-001", True),
        ("gpt-4o-mini", False),
        ("qwen2.5-72b-instruct", False),
    ],
)
def test_a_name_with_a_date_identifies_a_hosted_model(name: str, is_dated: bool) -> None:
    async def talk() -> tuple[str, str]:
        async with FaultServer([well], pages={}) as server:
            config = ModelConfig(name, {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url})
            hosted = ServiceConfig(config, f"openai/{name}", name, server.url, None, "OPENAI_API_KEY")
            model = OpenAIModel(hosted, COMPATIBLE["openai"])
            custom = open_model(f"openai/{name}", lambda _: config)
            identities = [await with_model(each, lambda one: one.identity()) for each in (model, custom)]
            return identities[0], identities[1]

    assert asyncio.run(talk()) == (name if is_dated else "", "")


def test_the_identity_of_claude_is_the_model_behind_an_alias() -> None:
    async def identify(page: bytes, name: str) -> str:
        async with FaultServer([well], pages={f"/v1/models/{name}": page}) as server:
            url = server.url.removesuffix("/v1")
            hosted = ServiceConfig(ModelConfig(name, {}), f"anthropic/{name}", name, url, None, "ANTHROPIC_API_KEY")
            return await with_model(AnthropicModel(hosted), lambda one: one.identity())

    found = asyncio.run(identify(b'{"id": "claude-sonnet-4-20250514", "type": "model"}', "claude-sonnet-4-0"))
    assert found == "claude-sonnet-4-20250514"
    assert asyncio.run(identify(b"<html>", "claude-sonnet-4-20250514")) == "claude-sonnet-4-20250514"
    assert asyncio.run(identify(b"<html>", "claude-sonnet-4-0")) == ""


@pytest.mark.parametrize(
    "page", [b"", b"<html>", b"[]", b'{"data": 1}', b"\xff", b"[" * 100_000, {"data": [{"id": "x"}]}]
)
def test_a_server_with_invalid_metadata_has_no_identity(page: object) -> None:
    assert identity_at({"/v1/models": page}) == ""
    assert identity_at({"/api/tags": page}, "ollama/m") == ""


def test_the_servers_of_the_user_are_part_of_the_cache_key_and_those_of_a_provider_are_not() -> None:
    def servers(spec: str, **environ: str) -> object:
        keys = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "AWS_BEARER_TOKEN_BEDROCK": KEY, "AWS_REGION": "x"}
        model = open_model(spec, lambda name: ModelConfig(name, keys | environ))
        return model.cache_scope  # type: ignore[attr-defined]

    for spec in ("openai/m", "anthropic/m", "vllm/m", "bedrock/m"):
        assert servers(spec) == ""
    assert servers("vllm/m", VLLM_BASE_URL="http://localhost:8000/v1") == ""
    assert servers("vllm/m", VLLM_BASE_URL="http://localhost:8001/v1") == "http://localhost:8001/v1"
    assert servers("openai/m", OPENAI_BASE_URL="http://u:pw@a/v1/?key=k") == "http://a/v1"
    assert servers("anthropic/m", ANTHROPIC_BASE_URL="http://a") == "http://a"


def test_a_missing_key_is_reported_with_the_model_string_and_all_variables() -> None:
    reason = "^zhipu/m requires .* variable ZHIPU_API_KEY or ZHIPUAI_API_KEY or ZAI_API_KEY is not set"
    with pytest.raises(UsageError, match=reason):
        open_model("zhipu/m", lambda name: ModelConfig(name, {}))


async def complete_all(model: Model, count: int) -> list[Completion]:
    return list(await asyncio.gather(*(model.complete(case(number)) for number in range(count))))


def test_mixed_faults_lose_no_case_and_no_retry_is_early() -> None:
    """5 % 429, 5 % 500 and 1 % that hang, as drawn by lot; Retry-After is kept."""
    chance, due, early = random.Random(0), dict[bytes, float](), []
    refuse, fail = status(429, Retry_After="0.2"), status(500)

    async def answer(exchange: Exchange) -> None:
        if exchange.at < due.pop(exchange.body, 0.0):
            early.append(exchange.body)
        lot = chance.random()
        if lot < 0.05:
            await refuse(exchange)
            due[exchange.body] = asyncio.get_running_loop().time() + 0.2
        else:
            await (fail if lot < 0.1 else hang if lot < 0.11 else well)(exchange)

    async def talk() -> list[Completion]:
        async with FaultServer([answer]) as server:
            model = model_at(server.url, patience=replace(QUICK, attempt_s=0.5), connections=64)
            return await with_model(model, lambda one: complete_all(one, 400))

    done = asyncio.run(talk())
    assert [completion.outcome for completion in done] == ["ok"] * 400
    assert max(completion.attempts for completion in done) <= 6
    assert not early


@pytest.mark.parametrize("user", ["", "someone:pw@"])
def test_a_header_of_the_user_replaces_the_same_header_in_any_case(user: str) -> None:
    given = {"authorization": "Bearer other-key-123456", "user-agent": "mine/1", "X-Team": "a"}

    _, server = ask(well, address=lambda url: url.replace("//", f"//{user}"), headers=given)
    lines = server.seen[0].head.split("\r\n")
    for name, value in given.items():
        assert [line for line in lines if line.lower().startswith(f"{name.lower()}:")] == [f"{name}: {value}"]


def test_the_query_of_a_base_url_is_kept() -> None:
    _, server = ask(well, address=lambda url: f"{url}/?api-version=1")
    assert server.seen[0].path == "/v1/chat/completions?api-version=1"


@pytest.mark.parametrize(
    ("spec", "environ", "problem"),
    [
        ("anthropic/m", {"ANTHROPIC_API_KEY": " "}, "ANTHROPIC_API_KEY is not set"),
        ("vllm/m", {"VLLM_BASE_URL": f"http://u:{KEY}@host:x/v1"}, "is not valid"),
    ],
)
def test_an_empty_key_and_an_invalid_url_are_refused(spec: str, environ: dict[str, str], problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        open_model(spec, lambda model: ModelConfig(model, environ))
    assert KEY not in str(caught.value)


def test_advice_names_what_to_check() -> None:
    assert model_at("http://u:pass@host/v1").advice == (
        "Check the key (T_API_KEY), the model name (m), the URL (http://host/v1) and the network."
    )
    system = open_model("http/https://u:pass@host/ask", lambda model: ModelConfig(model, {})).advice
    assert "list of documents to https://host/ask; docs/how-to/evaluate-your-rag.md describes" in system
    assert "the model name" not in system


def test_http_models_are_quick_to_import() -> None:
    heavy = "{'aiohttp', 'email', 'urllib.request'}"
    look = f"import sys, ragbed.models.providers.openai; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", look], check=False).returncode == 0


@pytest.mark.parametrize(
    "url",
    ["http://[::zz]", "http://xn--a/v1", "http://[::1", "http://h:99999/", "http://h:x/", "http:///v1", "ftp://h/"],
)
@pytest.mark.parametrize("variable", ["VLLM_BASE_URL", "http_proxy"])
def test_a_url_that_is_not_valid_is_refused(url: str, variable: str) -> None:
    with pytest.raises(UsageError, match=r"not valid|not set to a valid proxy URL|only http:// proxies"):
        open_model("vllm/m", lambda name: ModelConfig(name, {"VLLM_BASE_URL": "http://h/v1", variable: url}))
