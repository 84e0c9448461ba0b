"""Kill runs of the testbed `search` at random: no finished turn is sent again, and no episode is lost."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

from msgspec import structs

from benches.torture.bounds import Tally
from ragbed.api.planning import plan_run
from ragbed.api.spec import RunSpec
from ragbed.errors import UsageError
from ragbed.models.search_agents import SearchAgent
from ragbed.runs.execution import run
from ragbed.runs.status import read_status
from ragbed.runs.store import open_store
from ragbed.schema import Case, Completion
from tests.runs.harness import canonical

COUNT = 50
_TURNS, _SLOTS = 4, 16
_CONDITIONS, _ITEMS = 2, 60  # numbers of conditions and items in ragbed-mini-en_base
_EPISODES_PER_KILL = 40


class _LoggedAgent(SearchAgent):
    """An endless agent that writes each finished call to a file."""

    concurrency = _SLOTS

    def __init__(self, log: Path) -> None:
        super().__init__("search-endless")
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        await asyncio.sleep(0.002)
        turn = sum(message.role == "assistant" for message in case.messages)
        os.write(self._log, f"{case.case} {repeat} {turn}\n".encode())
        return await super().complete(case, repeat)


def _run(folder: Path, log: Path, repeats: int) -> None:
    spec = RunSpec(
        model="scripted/search-endless", data="ragbed-mini-en_base", testbeds="search", out=folder, repeats=repeats,
        search=f"turns={_TURNS}", no_cache=True,
    )  # fmt: skip
    job = plan_run(spec)
    run(structs.replace(job, models=[_LoggedAgent(log)]), lambda *_: None)


def _start(folder: Path, log: Path, repeats: int) -> BaseProcess:
    process = multiprocessing.get_context("spawn").Process(target=_run, args=(folder, log, repeats))
    process.start()
    return process


def torture(folder: Path, count: int, seed: int) -> bool:
    """Kill one run many times, resume it each time, and compare it with an undisturbed run."""
    repeats = -(-count * _EPISODES_PER_KILL // (_ITEMS * _CONDITIONS))
    killed, log, draw, tally = folder / "killed", folder / "calls", random.Random(seed), Tally("search")
    calls_per_kill = repeats * _ITEMS * _CONDITIONS * _TURNS // count
    finished: set[str] = set()
    for number in range(count):
        at = len(_read(log))
        process = _start(killed, log, repeats)
        until = at + draw.randrange(calls_per_kill)
        while len(_read(log)) <= until and process.is_alive():
            time.sleep(0.005)
        process.kill()
        process.join()
        again = len(finished & set(_read(log)[at:]))
        tally.add("kills", f"kill {number}", [f"re-sent: {again} finished turns"] * bool(again))
        finished = _finished(killed)
    at = len(_read(log))
    _finish(killed, log, repeats)
    again = len(finished & set(_read(log)[at:]))
    tally.add("runs", "the resumed run", _compare(folder, log, repeats, count) + ["re-sent"] * bool(again))
    calls = _read(log)
    print(f"  {len(calls):,} calls for {len(set(calls)):,} turns of {repeats * _ITEMS * _CONDITIONS:,} episodes")
    return tally.close()


def _finish(folder: Path, log: Path, repeats: int) -> None:
    process = _start(folder, log, repeats)
    process.join()
    assert process.exitcode == 0


def _read(log: Path) -> list[str]:
    return log.read_text("utf-8").splitlines() if log.exists() else []


def _finished(folder: Path) -> set[str]:
    """Return the turns that are stored, in results or as turns of unfinished episodes."""
    try:
        with open_store(folder, create=False) as store:
            turns = {
                f"{result.case.case} {result.repeat} {turn}"
                for result in store.results()
                for turn in range(len(result.completion.steps))
            }
            names = {number: case.case for number, case in enumerate(store.cases(), 1)}
            for (number, repeat), stored in store.turns(1).items():
                turns |= {f"{names[number]} {repeat} {turn}" for turn in range(len(stored))}
            return turns
    except UsageError:  # the run was killed before it was planned
        return set()


def _compare(folder: Path, log: Path, repeats: int, kills: int) -> list[str]:
    _finish(folder / "undisturbed", folder / "other-calls", repeats)
    calls, problems = _read(log), []
    twice, named = len(calls) - len(set(calls)), read_status(folder / "killed").maybe_paid_twice
    if canonical(folder / "killed") != canonical(folder / "undisturbed"):
        problems.append("different: the run is not equal to the undisturbed one")
    if not twice <= named <= kills * _SLOTS:
        problems.append(f"re-sent: {twice} turns twice; status names {named}, and {kills * _SLOTS} were in flight")
    if set(calls) != set(_read(folder / "other-calls")):
        problems.append("lost: the runs made different calls")
    return problems
