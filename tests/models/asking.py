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
from tests.servers.faulty_model import Fault, FaultServer

KEY = "sk-canary-0123456789-abcdefghij"
QUICK = RetryPolicy(first_pause_s=0.004, longest_pause_s=0.02, attempt_s=10, item_s=20, max_bytes=1 << 20)
HASTY = replace(QUICK, attempt_s=0.4, attempts=2)  # for what never ends; for all else a busy machine must not matter
T = TypeVar("T")


def case(number: int = 0) -> Case:
    return Case(
        case=f"t/{number}", data="t", item=str(number), lang="en", testbed="noise", question="?", noise=0.0,
        noise_real=0.0, k=5, true_ratio=0.0, arm="related", profile="robust", seed=0, feasible=True, documents=(),
        slots=(), messages=(Message(role="system", content="Be brief."), Message(role="user", content=f"{number}?")),
        answer=(("Paris",),), fake=None, expect="answer",
    )  # fmt: skip


def model_at(url: str, patience: RetryPolicy = QUICK, spec: str = "openai-api/t/m", **settings: Any) -> Model:
    environ = {"T_BASE_URL": url, "T_API_KEY": KEY, "OLLAMA_BASE_URL": url}
    environ |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY}
    return open_model(spec.format(url=url), lambda name: ModelConfig(name, environ, retry_policy=patience, **settings))


def ask(*script: Fault, patience: RetryPolicy = QUICK, spec: str = "openai-api/t/m") -> tuple[Completion, FaultServer]:
    """Complete one case with a server that follows a script."""
    server = FaultServer(list(script))

    async def talk() -> Completion:
        async with server:
            return await with_model(model_at(server.url, patience=patience, spec=spec), lambda m: m.complete(case()))

    return asyncio.run(talk()), server


async def with_model(model: Model, use: Callable[[Model], Coroutine[Any, Any, T]]) -> T:
    """Use a model and close it."""
    try:
        return await use(model)
    finally:
        await model.close()
