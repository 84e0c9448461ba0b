"""Replicas of a model act like the model itself, and report what they sent to their servers."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from ragbed.errors import UsageError
from ragbed.models import ModelConfig, open_model
from ragbed.models.base import lacks_language
from ragbed.runs.engines import ReplicaSpec
from ragbed.runs.engines.actors import ActorPool
from ragbed.runs.engines.ray import ModelWorker, ReplicatedModel, share_wish
from tests.models.asking import case
from tests.models.weights import SOUND, write_gguf
from tests.servers.function_model import ModelRequest, function_model


class _Pool:
    """A pool with one worker in this process, without a cluster."""

    room = 1

    def __init__(self, worker: ModelWorker) -> None:
        self.begin, self.do, self.close = worker.begin, worker.do, worker.close


def _respond(request: ModelRequest) -> str | tuple[int, object]:
    if "temperature" not in request.body:
        return "Paris"
    message = "Unsupported parameter: 'temperature' is not supported with this model."
    return 400, {"error": {"message": message, "param": "temperature", "code": "unsupported_parameter"}}


def test_a_replica_reports_the_negotiated_body() -> None:
    with function_model(_respond) as url:
        config = ModelConfig("t/m", {"T_BASE_URL": url})
        pool = _Pool(ModelWorker("openai-api/t/m", config))
        model = ReplicatedModel(open_model("openai-api/t/m", lambda _: config), cast("ActorPool", pool), None)

        async def call() -> None:
            for number in range(3):
                await model.complete(case(number))
            await model.close()

        assert model.sent == {}
        asyncio.run(call())
    assert model.sent == {"model": "m", "max_tokens": 256, "top_p": 1.0}
    assert model.negotiated == "temperature is omitted"


def test_a_replica_reports_a_change_although_the_call_fails() -> None:
    def respond(request: ModelRequest) -> tuple[int, object]:
        answer = _respond(request)
        return (400, {"error": {"message": "Tenant not allowed"}}) if isinstance(answer, str) else answer

    with function_model(respond) as url:
        config = ModelConfig("t/m", {"T_BASE_URL": url})
        pool = _Pool(ModelWorker("openai-api/t/m", config))
        model = ReplicatedModel(open_model("openai-api/t/m", lambda _: config), cast("ActorPool", pool), None)

        async def call() -> None:
            await model.complete(case(0))
            await model.close()

        asyncio.run(call())
    assert (model.sent, model.negotiated) == ({}, "temperature is omitted")


def _replicated(spec: str) -> ReplicatedModel:
    config = ModelConfig(spec.partition("/")[2], {}, loads=False)
    pool = ActorPool(None, partial(ModelWorker, spec, config), ReplicaSpec(), print)  # no worker is started
    return ReplicatedModel(open_model(spec, lambda _: config), pool, None)


def test_replicas_list_the_languages_of_their_model(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", SOUND | {"general.languages": ["en"]})
    assert lacks_language(_replicated(f"llamacpp/{path}"), "zh")
    assert not lacks_language(_replicated(f"llamacpp/{path}"), "en")


def test_replicas_of_a_function_are_checked_like_the_function() -> None:
    with pytest.raises(UsageError, match="cannot be used in testbeds that provide documents"):
        _replicated(f"python/{__name__}:search_only").check_provided("documents", ())  # type: ignore[attr-defined]  # optional


def search_only(question: str, corpus: str, k: int, lang: str) -> str:
    return f"{question}{corpus}{k}{lang}"


def test_workers_get_the_region_of_bedrock() -> None:
    environ = {"AWS_DEFAULT_REGION": "us-east-1", "HOME": "/home/user"}
    assert share_wish(ModelConfig("m", environ), 2).environ == {"AWS_DEFAULT_REGION": "us-east-1"}
