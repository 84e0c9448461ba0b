"""Replicas of a model report what they sent to their servers."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from ragbed.models import ModelConfig, open_model
from ragbed.runs.engines.actor_pool import ActorPool
from ragbed.runs.engines.model_replicas import ModelWorker, ReplicatedModel, WorkerResponse
from tests.models.asking import case
from tests.servers.function_model import ModelRequest, function_model


class _Pool:
    """A pool with one worker in this process, without a cluster."""

    room = 1

    def __init__(self, worker: ModelWorker) -> None:
        self._worker, self.reports = worker, list[WorkerResponse]()
        self.begin, self.close = worker.begin, worker.close

    async def do(self, job: Any) -> WorkerResponse:
        self.reports.append(await self._worker.do(job))
        return self.reports[-1]


def _respond(request: ModelRequest) -> str | tuple[int, object]:
    if "temperature" not in request.body:
        return "Paris"
    message = "Unsupported parameter: 'temperature' is not supported with this model."
    return 400, {"error": {"message": message, "param": "temperature", "code": "unsupported_parameter"}}


def test_a_replica_reports_the_negotiated_body_once_per_opening() -> None:
    with function_model(_respond) as url:
        config = ModelConfig("t/m", {"T_BASE_URL": url})
        pool = _Pool(ModelWorker("openai-api/t/m", config))
        model = ReplicatedModel(open_model("openai-api/t/m", lambda _: config), cast("ActorPool", pool), None)

        async def call() -> None:
            for number in range(3):
                await model.complete(case(number))
            await model.identity()
            await model.complete(case(4))
            await model.close()

        assert model.sent == {}
        asyncio.run(call())
    assert model.sent == {"model": "m", "max_tokens": 256, "top_p": 1.0}
    assert model.negotiated == "temperature is omitted"
    assert [report.sent is not None for report in pool.reports] == [True, False, False, True]
