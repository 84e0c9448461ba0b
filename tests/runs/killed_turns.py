"""Kill runs whose cases take several calls, and find the calls that were sent again or lost."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from msgspec import structs

from ragbed.api.planning import plan_run
from ragbed.api.spec import RunSpec
from ragbed.errors import UsageError
from ragbed.models.scripted import SearchAgent
from ragbed.runs.execution import run
from ragbed.runs.status import read_status
from ragbed.runs.store import open_store
from ragbed.schema import Case, Completion
from tests.runs.harness import CONTEXT, canonical

SLOTS = 16
KINDS: dict[str, dict[str, object]] = {
    "search": {"testbeds": "search", "search": "turns=4"},
    "strategies": {"testbeds": "noise", "noise": 0.4, "strategies": "isolate"},
}
"""The settings of a run whose cases take several calls, by the kind of its cases."""


class _LoggedModel(SearchAgent):
    """An agent that never stops searching, and a model that answers from documents; it logs each answered call."""

    concurrency = SLOTS

    def __init__(self, log: Path) -> None:
        super().__init__("search-endless")
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        await asyncio.sleep(0.002)
        os.write(self._log, f"{case.case} {repeat} {_turn(case)}\n".encode())
        return await super().complete(case, repeat)


def _turn(case: Case) -> int:
    """Return the zero-based number of a case's call; `isolate` sends one document at a time and then its notes."""
    if case.testbed == "search":
        return sum(message.role == "assistant" for message in case.messages)
    sent = case.messages[-1].content
    places = [place for place, document in enumerate(case.documents) if document.text in sent]
    return places[0] if places else len(case.documents)


def _run(folder: Path, log: Path, kind: str, cached: bool, options: dict[str, object]) -> None:
    data = "ragbed-mini-en_base"
    spec = RunSpec(model="scripted/search-endless", data=data, out=folder, cache="off", **KINDS[kind], **options)  # type: ignore[arg-type]
    job = plan_run(spec)
    cache = folder.with_name(f"{folder.name}-cache") if cached else None
    run(structs.replace(job, models=[_LoggedModel(log)], cache=cache), lambda *_: None)


@dataclass
class KilledRun:
    """A run that is killed and resumed, and the same run undisturbed.

    Attributes:
        folder: An empty folder for both runs.
        kind: The kind of its cases (see `KINDS`).
        cached: Whether the run uses the response cache.
        options: More parameters of the run.
    """

    folder: Path
    kind: str
    cached: bool
    options: dict[str, object]

    def kill(self, kills: int, calls_per_kill: int, seed: int) -> Iterator[list[str]]:
        """Kill the run at random, and yield the problems after each kill."""
        draw, stored, at = random.Random(seed), set[str](), 0
        for _ in range(kills):
            process = self._start("killed")
            until = at + draw.randrange(calls_per_kill)
            while len(self.calls()) <= until and process.is_alive():
                time.sleep(0.001)
            process.kill()
            process.join()
            again = len(stored & set(self.calls()[at:]))
            yield [f"re-sent: {again} stored calls"] * bool(again)
            stored, at = self._stored(), len(self.calls())

    def finish(self, kills: int) -> list[str]:
        """Resume the run to its end, and compare it with the undisturbed one."""
        problems, at, stored = [], len(self.calls()), self._stored()
        for name in ("killed", "undisturbed"):
            process = self._start(name)
            process.join()
            assert process.exitcode == 0
        calls, named = self.calls(), read_status(self.folder / "killed").maybe_paid_twice
        if again := len(stored & set(calls[at:])) + self._sent_again():
            problems.append(f"re-sent: {again} calls whose response was used in the next call or was stored")
        if not len(calls) - len(set(calls)) <= named <= kills * SLOTS:
            sent = len(calls) - len(set(calls))
            problems.append(f"re-sent: {sent} calls twice; status names {named}, and {kills * SLOTS} were in flight")
        if canonical(self.folder / "killed") != canonical(self.folder / "undisturbed"):
            problems.append("different: the run is not equal to the undisturbed one")
        # With a cache, cases with the same first request make one call for it, in either run another case.
        if not self.cached and set(calls) != set(self.calls("undisturbed")):
            problems.append("lost: the runs made different calls")
        return problems

    def calls(self, name: str = "killed") -> list[str]:
        """Return the answered calls as `case repeat turn`, in order."""
        log = self.folder / f"{name}-calls"
        return log.read_text("utf-8").splitlines() if log.exists() else []

    def _sent_again(self) -> int:
        """Return the number of calls that were sent again although a later call of their case had been answered."""
        latest: dict[str, int] = {}
        again = 0
        for case, _, turn in (call.rpartition(" ") for call in self.calls()):
            again += int(turn) < latest.get(case, 0)
            latest[case] = max(int(turn), latest.get(case, 0))
        return again

    def _start(self, name: str) -> BaseProcess:
        arguments = (self.folder / name, self.folder / f"{name}-calls", self.kind, self.cached, self.options)
        process = CONTEXT.Process(target=_run, args=arguments)
        process.start()
        return process

    def _stored(self) -> set[str]:
        """Return the calls whose responses are stored, in results or as turns of unfinished cases."""
        try:
            with open_store(self.folder / "killed", create=False) as store:
                calls = {
                    f"{result.case.case} {result.repeat} {turn}"
                    for result in store.results()
                    for turn in range(max(1, len(result.completion.steps)))
                }
                names = {number: case.case for number, case in enumerate(store.cases(), 1)}
                for (number, repeat), turns in store.turns(1).items():
                    calls |= {f"{names[number]} {repeat} {turn}" for turn in range(len(turns))}
                return calls
        except UsageError:  # the run was killed before it was planned
            return set()
