"""Episodes are stored turn by turn: an interrupted one continues where it was, and no finished turn is sent again."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec import structs

import ragbed
from ragbed.api.planning import plan_run
from ragbed.api.spec import RunSpec
from ragbed.errors import DataError
from ragbed.models.scripted import SearchAgent
from ragbed.runs.budget import Budget, BudgetSpent
from ragbed.runs.execution import Job, run
from ragbed.runs.merging import merge
from ragbed.runs.status import read_status
from ragbed.runs.store import Called, open_store
from ragbed.runs.turns import episode_calls, make_calls
from ragbed.schema import Case, Completion, ToolCall
from ragbed.testbeds.search.episode import Episode
from ragbed.testbeds.search.settings import SearchSettings
from tests.models.asking import case
from tests.runs.harness import ask_nobody, canonical, completions

_TURNS = 8


class _Agent(SearchAgent):
    """An endless agent that is interrupted or fails at a certain call."""

    concurrency = 1

    def __init__(
        self, ends_at: int | None = None, fails_at: int | None = None, error: str = "server: HTTP 500"
    ) -> None:
        super().__init__("search-endless")
        self.sent: list[tuple[str, int]] = []
        self._ends_at, self._fails_at, self._error = ends_at, fails_at, error

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        if len(self.sent) == self._ends_at:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(60)
        if len(self.sent) == self._fails_at:
            self._fails_at = None
            return Completion(outcome="error", error=self._error)
        self.sent.append((case.case, len(case.messages)))
        return await super().complete(case, repeat)


def _job(folder: Path, agent: _Agent, shard: str | None = None, **changes: object) -> Job:
    spec = RunSpec(
        model="scripted/search-endless", data="ragbed-mini-en_base", testbeds="search", limit=2, out=folder,
        cache="off", shard=shard,
    )  # fmt: skip
    return structs.replace(plan_run(spec), **{"models": [agent], **changes})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    run(_job(folder, agent := _Agent()), ask_nobody)
    assert len(agent.sent) == 4 * _TURNS
    return folder


def test_a_result_has_all_turns_and_their_totals(whole: Path) -> None:
    done, *_ = completions(whole)
    assert (done.outcome, done.finish, len(done.steps)) == ("truncated", "turn-limit", _TURNS)
    assert done.usage == {name: sum((step.usage or {})[name] for step in done.steps) for name in ("in", "out")}
    assert all(step.searches[0].found and step.protocol == "tools" for step in done.steps)
    assert read_status(whole).maybe_paid_twice == 0


@pytest.mark.parametrize("ends_at", [1, _TURNS - 1, _TURNS, _TURNS + 3])
def test_an_interrupted_episode_continues_after_its_last_stored_turn(ends_at: int, whole: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(_job(tmp_path, first := _Agent(ends_at=ends_at)), ask_nobody)
    assert read_status(tmp_path).maybe_paid_twice == 1  # only the call in flight
    run(_job(tmp_path, second := _Agent()), ask_nobody)
    assert len(first.sent) + len(second.sent) == 4 * _TURNS
    assert not set(first.sent) & set(second.sent)
    assert canonical(tmp_path) == canonical(whole)
    with open_store(tmp_path, create=False) as store:
        assert store.turns(1) == {}


def _shards(folder: Path, *agents: _Agent) -> list[Path]:
    """Run two shards, some of which are interrupted, and return their folders."""
    parts = []
    for number, agent in enumerate(agents, start=1):
        parts.append(folder / str(number))
        job = _job(parts[-1], agent, shard=f"{number}/2")
        with suppress(KeyboardInterrupt):
            run(job, ask_nobody)
    return parts


def test_a_merged_run_continues_the_unfinished_episodes_of_its_parts(whole: Path, tmp_path: Path) -> None:
    agents = _Agent(ends_at=3), _Agent(fails_at=_TURNS + 2), _Agent()
    merge(_shards(tmp_path, *agents[:2]), tmp_path / "merged")
    run(_job(tmp_path / "merged", agents[2]), ask_nobody)
    sent = [call for agent in agents for call in agent.sent]
    assert len(sent) == len(set(sent)) == 4 * _TURNS
    assert canonical(tmp_path / "merged") == canonical(whole)


@pytest.mark.parametrize("calls", [(), (ToolCall(id="c", name="search", arguments='{"query": "Rome"}'),)])
def test_an_episode_that_ends_at_a_limit_has_no_answer(calls: tuple[ToolCall, ...]) -> None:
    async def search(_: Case) -> Called:
        return Called(Completion(outcome="ok", reply='SEARCH: {"query": "Rome"}', calls=calls), "key")

    episode = Episode(case(), "tools" if calls else "text", SearchSettings(turns=2), lambda *_: ())
    done = asyncio.run(make_calls(episode_calls(episode), search)).completion
    assert (done.outcome, done.finish, done.reply) == ("truncated", "turn-limit", "")


@pytest.mark.parametrize(
    ("error", "is_explained"),
    [
        ("request: HTTP 400: x does not support tools", True),
        ("request: HTTP 400: invalid messages", False),
        # https://github.com/evalstate/fast-agent/issues/122
        ("missing: HTTP 404: No endpoints found that support tool use.", True),
        ("missing: HTTP 404: the model toolformer does not exist", False),
        ("server: HTTP 500: the tool parser failed", False),
    ],
)
def test_a_rejected_tool_is_an_error_that_names_the_fix(error: str, is_explained: bool) -> None:
    async def refuse(_: Case) -> Called:
        return Called(Completion(outcome="error", error=error), "key")

    fix = "set the search protocol to text"
    protocols: tuple[Literal["tools", "text"], ...] = ("tools", "text")
    for protocol in protocols:
        episode = Episode(case(), protocol, SearchSettings(), lambda *_: ())
        done = asyncio.run(make_calls(episode_calls(episode), refuse)).completion
        assert (done.outcome, fix in (done.error or "")) == ("error", is_explained and protocol == "tools")


def test_the_budget_ends_an_episode_between_turns_and_counts_stored_turns(whole: Path, tmp_path: Path) -> None:
    price = {"scripted/search-endless": lambda _: Decimal(1)}
    with pytest.raises(BudgetSpent):
        run(_job(tmp_path, first := _Agent(), budget=Budget(11.0, price)), ask_nobody)
    assert len(first.sent) == 11
    with pytest.raises(BudgetSpent):
        run(_job(tmp_path, second := _Agent(), budget=Budget(11.0, price)), ask_nobody)
    assert second.sent == []
    run(_job(tmp_path, third := _Agent(), budget=Budget(100.0, price)), ask_nobody)
    assert len(third.sent) == 4 * _TURNS - 11
    assert canonical(tmp_path) == canonical(whole)


def test_the_turns_of_an_interrupted_retry_count_in_the_budget(tmp_path: Path) -> None:
    price = {"scripted/search-endless": lambda _: Decimal(1)}
    run(_job(tmp_path, first := _Agent(fails_at=3)), ask_nobody)
    with pytest.raises(KeyboardInterrupt):  # the retry makes two more calls
        run(_job(tmp_path, _Agent(ends_at=2)), ask_nobody)
    spent = len(first.sent) + 1 + 2 + 1  # with the failed call, and the call in flight at the average cost
    with pytest.raises(BudgetSpent, match=rf"\(\${spent + 1}\.0000 spent\)"):
        run(_job(tmp_path, last := _Agent(), budget=Budget(spent + 1.0, price)), ask_nobody)
    assert len(last.sent) == 1


@pytest.mark.parametrize("error", ["request: HTTP 400", "too-long: HTTP 400"])
def test_an_episode_whose_conversation_was_rejected_starts_over(error: str, whole: Path, tmp_path: Path) -> None:
    run(_job(tmp_path, first := _Agent(fails_at=3, error=error)), ask_nobody)
    run(_job(tmp_path, second := _Agent()), ask_nobody)
    assert len(second.sent) == _TURNS
    assert second.sent[:3] == first.sent[:3]
    assert read_status(tmp_path).maybe_paid_twice == 0
    assert canonical(tmp_path) == canonical(whole)
    with open_store(tmp_path, create=False) as store:
        assert len(store.replaced_usage()) == 3  # these calls were billed


@pytest.mark.parametrize("fails_at", [0, 3])
def test_an_interrupted_retry_of_a_rejected_episode_continues(fails_at: int, whole: Path, tmp_path: Path) -> None:
    price = {"scripted/search-endless": lambda _: Decimal(1)}
    run(_job(tmp_path, first := _Agent(fails_at=fails_at, error="request: HTTP 400")), ask_nobody)
    with pytest.raises(KeyboardInterrupt):
        run(_job(tmp_path, retry := _Agent(ends_at=5)), ask_nobody)
    assert read_status(tmp_path).maybe_paid_twice == 1  # the call in flight
    spent = len(first.sent) + 1 + len(retry.sent) + 1
    with pytest.raises(BudgetSpent):
        run(_job(tmp_path, none := _Agent(), budget=Budget(float(spent), price)), ask_nobody)
    assert none.sent == []
    with pytest.raises(BudgetSpent):
        run(_job(tmp_path, single := _Agent(), budget=Budget(float(spent + 1), price)), ask_nobody)
    assert len(single.sent) == 1
    run(_job(tmp_path, last := _Agent()), ask_nobody)
    assert len(last.sent) == _TURNS - 6
    assert canonical(tmp_path) == canonical(whole)


def test_a_damaged_turn_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(_job(tmp_path, _Agent(ends_at=2)), ask_nobody)
    with open_store(tmp_path, create=True) as store, store.transaction() as connection:
        connection.execute("UPDATE meta SET value = '{' WHERE key GLOB 'turn.*'")
    with pytest.raises(DataError, match=r"turn 1\.0\.000000 is damaged"):
        run(_job(tmp_path, _Agent()), ask_nobody)


def test_cached_turns_are_not_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGBED_CACHE_DIR", str(tmp_path / "cache"))
    options: dict[str, Any] = {"testbeds": "search", "limit": 2, "progress": False}
    first = ragbed.run("scripted/search-once", "ragbed-mini-en_base", out=tmp_path / "a", **options)
    again = ragbed.run("scripted/search-once", "ragbed-mini-en_base", out=tmp_path / "b", **options)
    assert first.outcomes == again.outcomes == {"ok": 4}
    assert all(step.cached for done in completions(tmp_path / "b") for step in done.steps)
    assert canonical(tmp_path / "a") == canonical(tmp_path / "b")
