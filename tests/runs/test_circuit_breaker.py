"""A model that does not respond any more is soon not called again, and its other cases stay pending."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from ragbed.errors import RagbedError
from ragbed.runs.circuit_breaker import CircuitBreaker, CircuitOpen
from ragbed.runs.execution import run
from ragbed.runs.status import read_status
from ragbed.schema import Case, Completion
from tests.models.asking import model_at
from tests.runs.harness import TalkingModel, agree, ask_nobody, make_job
from tests.servers.faulty_model import Fault, FaultServer, reply, status


def _error(kind: str) -> Completion:
    return Completion(outcome="error", error=f"{kind}: no")


def _agrees_until(count: int, kind: str) -> Callable[[Case], Completion]:
    return lambda case: agree(case) if int(case.item) < count else _error(kind)


@pytest.mark.parametrize(
    ("kind", "fix"),
    [("auth", "Check this."), ("quota", "Add credit or wait until the quota is renewed."), ("connect", "Check this.")],
)
def test_a_model_that_stops_responding_is_not_called_again_and_resumable(kind: str, fix: str, tmp_path: Path) -> None:
    model = TalkingModel(_agrees_until(100, kind))
    with pytest.raises(CircuitOpen, match=rf"1\d cases in a row ended in an error, most recently: {kind}: no\. {fix}"):
        run(make_job(tmp_path, 1000, model), ask_nobody)
    assert len(model.asked) <= 100 + 10 + model.concurrency
    (told,) = read_status(tmp_path).models
    assert (told.ok, told.pending > 850) == (100, True)
    run(make_job(tmp_path, 1000, TalkingModel(agree)), ask_nobody)
    assert read_status(tmp_path).models[0].ok == 1000


@pytest.mark.parametrize(
    ("kinds", "has_responses", "fix"),
    [
        (["auth", "quota"], True, "Add credit or wait until the quota is renewed."),
        (["request", "request"], True, ""),
        (["auth", "timeout"], False, ""),
        (["ok", "auth"], False, ""),
        (["exception"], False, ""),
    ],
)
def test_the_fix_is_for_errors_that_every_case_would_have(kinds: list[str], has_responses: bool, fix: str) -> None:
    breaker = CircuitBreaker("test/talking", "Check this.", has_responses=has_responses)
    for kind in kinds:
        breaker.learn(Completion(outcome="ok", reply="x") if kind == "ok" else _error(kind))
    assert breaker.fix == fix


def test_a_server_that_rejects_all_but_a_lost_request_is_not_called_again(tmp_path: Path) -> None:
    model = TalkingModel(lambda case: _error("request" if int(case.item) else "timeout"))
    with pytest.raises(CircuitOpen, match="cannot be called: request: no"):
        run(make_job(tmp_path, 1000, model), ask_nobody)
    assert len(model.asked) <= 1 + 32 + model.concurrency


def test_a_server_that_fails_for_hours_is_not_called_again(tmp_path: Path) -> None:
    model = TalkingModel(_agrees_until(5, "server"))
    with pytest.raises(CircuitOpen, match="most recently: server: no"):
        run(make_job(tmp_path, 1000, model), ask_nobody)
    assert 5 + 128 <= len(model.asked) <= 5 + 128 + model.concurrency


def test_errors_between_responses_do_not_open_the_circuit(tmp_path: Path) -> None:
    model = TalkingModel(lambda case: _error("protocol") if int(case.item) % 4 else agree(case))
    run(make_job(tmp_path, 400, model), ask_nobody)
    assert (read_status(tmp_path).models[0].ok, read_status(tmp_path).models[0].error) == (100, 300)


def test_an_open_circuit_of_one_model_does_not_stop_the_others(tmp_path: Path) -> None:
    told: list[str] = []
    lost = TalkingModel(lambda _: _error("auth"), "test/lost")
    with pytest.raises(CircuitOpen, match="test/lost cannot be called"):
        run(make_job(tmp_path, 200, lost, TalkingModel(agree, "test/well"), tell=told.append), ask_nobody)
    assert [model.ok for model in read_status(tmp_path).models] == [0, 200]
    assert len(told) == 1
    assert told[0].endswith("The other models continue.")


@pytest.mark.parametrize(
    ("fault", "most"),
    [(status(401), 3), (status(404, "model_not_found"), 3), (reply(b"<html>It works!</html>"), 9)],
    ids=["a wrong key", "a wrong model", "no model's server"],
)
def test_what_was_never_right_stops_after_the_first_calls(fault: Fault, most: int, tmp_path: Path) -> None:
    server = FaultServer([fault])

    async def serve() -> None:
        async with server:
            await asyncio.to_thread(run, make_job(tmp_path, 200, model_at(server.url)), ask_nobody)

    with pytest.raises(RagbedError, match="openai-api/t/m cannot be called: "):
        asyncio.run(serve())
    assert len(server.seen) == most
