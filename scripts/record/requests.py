"""The requests that each provider is sent, for each option of `run`."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

from yarl import URL

import ragbed
from ragbed.errors import UsageError
from ragbed.models.presets import PRESETS
from ragbed.models.providers.dialects import COMPATIBLE
from ragbed.models.providers.transport import Transport
from tests.servers.function_model import ModelRequest, function_model
from tests.servers.mock_batches import BatchBehaviour, batches_in_thread

_FIRST_TURN = 2  # maximum number of messages before the first tool call
_ABSENT = "(absent)"
_LONGEST = 60  # number of characters above which a text is recorded as its hash
# The variables with the key and the base URL, by provider.
_PROVIDERS = {
    **{name: (provider.key[0], provider.base) for name, provider in COMPATIBLE.items()},
    "openai-api": ("T_API_KEY", "T_BASE_URL"),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
}
_MODELS = [f"{name}/t/model" for name in _PROVIDERS]
_WITH_PRESETS = ["openai/t/model", "vllm/t/model"]
_OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "temperature 0.7": {"temperature": 0.7},
    "temperature none": {"temperature": "none"},
    "top_p 0.9": {"top_p": 0.9},
    "max_tokens 100": {"max_tokens": 100},
    "max_tokens auto": {"max_tokens": "auto"},
    "reasoning_effort low": {"reasoning_effort": "low"},
    "thinking on": {"thinking": "on"},
    "thinking off": {"thinking": "off"},
    "thinking budget=2000": {"thinking": "budget=2000"},
    "thinking on, reasoning_effort low": {"thinking": "on", "reasoning_effort": "low"},
    "extra_body": {"extra_body": {"top_k": 20, "chat_template_kwargs": {"a": 1}}},
    "seed_model 7": {"seed_model": 7},
    "profile code-2023": {"profile": "code-2023"},
    **{f"preset {name}": {"preset": name, "model": _WITH_PRESETS} for name in PRESETS},
    **{f"preset {name}, code": {"preset": name, "profile": "code-2023", "model": _WITH_PRESETS} for name in PRESETS},
}  # fmt: skip
_LAYOUT: dict[str, Any] = {
    "data": ["ragbed-mini-en_base", "ragbed-mini-zh_base"], "testbeds": "noise", "noise": 0.4, "limit": 1,
}  # fmt: skip
# Headers that depend on the HTTP client and the machine.
_UNRECORDED = ("host", "content-length", "user-agent", "accept", "accept-encoding", "connection")


def record() -> dict[str, Any]:
    """Return the rows: bodies as planned for the provider's own URL, and requests as a server receives them."""
    keys = dict.fromkeys((key for key, _ in _PROVIDERS.values()), "recorded-key")
    urls = dict.fromkeys(
        ("T_BASE_URL", COMPATIBLE["azure"].base), "http://127.0.0.1:1"
    )  # they have no URL of their own
    with patch.dict(os.environ, keys | urls, AWS_REGION="eu-west-1"):
        return {f"planned, {name}": row for name, row in _plan()} | _send() | _send_batches()


def _plan() -> Iterator[tuple[str, Any]]:
    """Yield the bodies for each model and option; for all options but the first, only what differs from the default."""
    usual: dict[str, Any] = {}
    for option, values in _OPTIONS.items():
        for model, bodies in _plan_option(values).items():
            usual.setdefault(model, bodies)
            changed = bodies if option == "default" else bodies and _difference(usual[model], bodies)
            yield f"{model}, {option}", changed or "rejected"


def _plan_option(values: dict[str, Any]) -> dict[str, Any]:
    """Return the bodies of the first English and the first Chinese case by model, or None if the option is rejected."""
    models: list[str] = values.get("model", _MODELS)
    found: dict[str, Any] = dict.fromkeys(models)
    while models:
        try:
            job = ragbed.plan_run(ragbed.RunSpec(**_LAYOUT | values | {"model": models}))
        except UsageError as error:
            named = [model for model in models if model in str(error)]
            models = [model for model in models if model not in (named or models)]
            continue
        cases = list(job.cases())
        for model, opened in zip(models, job.models, strict=True):
            found[model] = {f"{case.lang}, {case.profile}": shorten(json.loads(opened.request(case))) for case in cases}
        job.close()
        break
    return found


def _difference(usual: dict[str, Any], bodies: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that differ from those of the default, by case; new cases are complete."""
    changed = {}
    for case, body in bodies.items():
        old = usual.get(case, {})
        names = sorted({*old, *body})
        changed[case] = {name: body.get(name, _ABSENT) for name in names if body.get(name) != old.get(name)}
    return changed


def shorten(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Replace long texts in a JSON value by their hashes."""
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{hashlib.sha256(value.encode()).hexdigest()[:16]} ({len(value)} characters)"
    if isinstance(value, dict):
        return {name: shorten(field) for name, field in value.items()}
    return [shorten(element) for element in value] if isinstance(value, list) else value


def _send() -> dict[str, Any]:
    """Return the requests that a server receives from each model in a run, from judges and in search episodes."""
    received: dict[str, list[Any]] = defaultdict(list)
    name = ""

    def respond(request: ModelRequest) -> tuple[int, object]:
        _, provider, path = request.path.split("/", 2)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _UNRECORDED}
        received[f"{name}, {provider}"].append([path, dict(sorted(headers.items())), shorten(request.body)])
        return 200, _respond(request)

    with function_model(respond) as url, tempfile.TemporaryDirectory() as folder:
        root = url.removesuffix("/v1")
        # Each provider has a folder of its own; two providers have base URLs without /v1.
        versions = {"azure": "", "anthropic": ""}
        environ = {base: f"{root}/{name}{versions.get(name, '/v1')}" for name, (_, base) in _PROVIDERS.items()}
        system = f"http/{root}/http/ask"
        searching = ["openai-api/t/model", "anthropic/t/model"]
        given = _LAYOUT | {"data": _LAYOUT["data"][0], "cache": "off", "progress": False}
        runs: dict[str, dict[str, Any]] = {
            "run": {"model": [*_MODELS, system], "header": "X-Own: 1"},
            "search": {"model": searching, "testbeds": "search", "noise": None, "max_connections": 1},
            "own-rag": {"model": system, "testbeds": "own-rag", "corpus": "clean,withheld", "noise": None},
            **{f"run, preset {name}": {"model": "openai-api/t/model", "preset": name} for name in PRESETS},
        }
        with patch.dict(os.environ, environ):
            for name, options in runs.items():
                ragbed.run(out=f"{folder}/{name}", **given | options)
            name = "judge"
            for model in _MODELS:
                ragbed.judge(f"{folder}/search", model, criteria="correct", cache="off", progress=False)
    return dict(sorted(received.items()))


def _send_batches() -> dict[str, Any]:
    """Return the requests that create a batch, by provider; of an uploaded file, the lines."""
    received: dict[str, list[Any]] = defaultdict(list)
    send = Transport.request

    async def send_and_record(
        transport: Transport, method: str, url: URL, body: bytes | None = None, *, kind: str = "", repeats: bool = True
    ) -> bytes:
        if body is not None:
            lines = (json.loads(line) if line.startswith("{") else line for line in body.decode().splitlines())
            headers = dict(sorted({**transport._headers(), "Content-Type": kind}.items()))
            received[f"batch, {name}"].append([method, url.path, headers, shorten([*lines])])
        return await send(transport, method, url, body, kind=kind, repeats=repeats)

    with (
        batches_in_thread(BatchBehaviour(delay_s=0)) as root,
        tempfile.TemporaryDirectory() as folder,
        patch.object(Transport, "request", send_and_record),
        patch("ragbed.runs.batch_loop.secrets.token_hex", return_value="recorded-batch"),
        patch.dict(os.environ, OPENAI_BASE_URL=f"{root}/v1", ANTHROPIC_BASE_URL=root),
    ):
        for name in ("openai", "anthropic"):
            options: dict[str, Any] = {**_LAYOUT, "batch": True, "cache": "off", "progress": False}
            ragbed.run(f"{name}/t/model", out=f"{folder}/{name}", **options)
    return dict(received)


def _respond(request: ModelRequest) -> object:
    """Return a response in the provider's format; a model that may search does so once."""
    searches = "tools" in request.body and len(request.body["messages"]) <= _FIRST_TURN
    if request.path.endswith("/ask"):
        return {"answer": "Paris", "contexts": ["Paris"]}
    if "messages" in request.path:
        use = {"type": "tool_use", "id": "c", "name": "search", "input": {"query": "Paris"}}
        block = use if searches else {"type": "text", "text": "Paris"}
        return {"content": [block], "stop_reason": "tool_use" if searches else "end_turn", "usage": {}}
    message: dict[str, Any] = {"role": "assistant", "content": "Paris"}
    if searches:
        call = {"id": "c", "type": "function", "function": {"name": "search", "arguments": '{"query": "Paris"}'}}
        message |= {"content": None, "tool_calls": [call]}
    return {"choices": [{"message": message, "text": "Paris", "finish_reason": "tool_calls" if searches else "stop"}]}
