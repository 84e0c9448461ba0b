"""Call models of a fault server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from msgspec.structs import replace

from ragbed.io.retry import RetryPolicy
from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Model
from ragbed.schema import Case, Completion, Message
from tests.runs.harness import make_case
from tests.servers.faulty_model import Fault, FaultServer

KEY = "sk-canary-0123456789-abcdefghij"
QUICK = RetryPolicy(first_pause_s=0.004, longest_pause_s=0.02, attempt_s=10, item_s=20, max_bytes=1 << 20)
HASTY = replace(QUICK, attempt_s=0.4, attempts=2)  # for what never ends; for all else a busy machine must not matter
T = TypeVar("T")


def case(number: int = 0) -> Case:
    messages = (Message(role="system", content="Be brief."), Message(role="user", content=f"{number}?"))
    return replace(make_case(number), question="?", documents=(), slots=(), answer=(("Paris",),), messages=messages)


def model_at(url: str, patience: RetryPolicy = QUICK, spec: str = "openai-api/t/m", **settings: Any) -> Model:
    environ = {"T_BASE_URL": url, "T_API_KEY": KEY, "OLLAMA_BASE_URL": url, "VLLM_BASE_URL": url}
    environ |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY, "HTTP_API_KEY": KEY}
    return open_model(spec.format(url=url), lambda name: ModelConfig(name, environ, retry_policy=patience, **settings))


def ask(
    *script: Fault, asked: Case | None = None, address: Callable[[str], str] = str, **model: Any
) -> tuple[Completion, FaultServer]:
    """Complete one case with a server that follows a script; `address` changes its URL."""
    server = FaultServer(list(script))

    async def talk() -> Completion:
        async with server:
            return await with_model(model_at(address(server.url), **model), lambda m: m.complete(asked or case()))

    return asyncio.run(talk()), server


async def with_model(model: Model, use: Callable[[Model], Coroutine[Any, Any, T]]) -> T:
    """Use a model and close it."""
    try:
        return await use(model)
    finally:
        await model.close()
