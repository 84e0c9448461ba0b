"""Helpers for tests of runs: cases, a server in a separate process, and runs that can be killed."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Barrier

from ragbed.analysis.trials.table import score_result
from ragbed.errors import RagbedError
from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Model
from ragbed.runs.cache import Cache
from ragbed.runs.execution import Job, run
from ragbed.runs.store import open_store
from ragbed.runs.trials import trial_line
from ragbed.schema import Case, Completion, Document, Message
from ragbed.scoring import score
from tests.cli.typed import Done, type_command
from tests.servers.function_model import Respond, function_model
from tests.servers.mock_model import Behaviour, mock_model

SLOTS = 16
PATIENCE_S = 120
"""A busy machine may be slow; a process that never ends fails all the same."""
WORDS = ("-d", "ragbed-mini-en_base", "--testbeds", "noise", "--noise", "0", "--cache", "off")
RUN = ("run", "-m", "openai-api/t/m", *WORDS)
"""A command that calls a server once per item."""


def make_case(number: int, *, feasible: bool = True, filler: str = "") -> Case:
    """Return a case with a unique prompt."""
    return Case(
        case=f"made/{number}/noise@noise=0,k=1,arm=related,profile=robust,seed=0", data="made", item=str(number),
        lang="en", testbed="noise", question=f"Question {number}?", noise=0.0, noise_real=0.0, k=1, true_ratio=0.0,
        arm="related", profile="robust", seed=0, feasible=feasible,
        documents=(Document(text=f"It is gold-{number}.", stance="supports", kind="related", source=0),), slots=(0,),
        messages=(Message(role="user", content=f"{filler}Question {number}?"),), answer=((f"gold-{number}",),),
        fake=None, expect="answer", reason=None if feasible else "made so",
    )  # fmt: skip


def make_job(folder: Path, count: int, *models: Model, **changes: object) -> Job:
    """Return a job with this number of cases."""
    fields: dict[str, object] = {
        "folder": folder,
        "settings": {"cases": str(count), "repeats": "1"},
        "cases": lambda: (make_case(number) for number in range(count)),
        "models": models,
    }
    return Job(**(fields | changes))  # type: ignore[arg-type]


def ask_nobody(*_: object) -> None:
    """Ignore the progress."""


class TalkingModel:
    """A model in this process that responds with a function and records the cases."""

    concurrency = 8
    advice = "Check this."

    def __init__(
        self, say: Callable[[Case], Completion], name: str = "test/talking", identity: str = "1", takes_s: float = 0
    ) -> None:
        self.name, self._say, self._identity, self._takes_s = name, say, identity, takes_s
        self.asked: list[str] = []

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        await asyncio.sleep(self._takes_s)
        self.asked.append(case.case)
        return self._say(case)

    def request(self, case: Case) -> bytes:
        return case.case.encode()

    async def identity(self) -> str:
        return self._identity

    async def close(self) -> None:
        pass


def agree(case: Case) -> Completion:
    """Respond with the correct answer."""
    return Completion(outcome="ok", reply=case.answer[0][0], finish="stop")


@dataclass(frozen=True)
class Endpoint:
    """A running server with the log of its requests."""

    url: str
    log: Path

    def calls(self) -> list[str]:
        """Return the hashes of the answered requests, in order."""
        return self.log.read_text("utf-8").split() if self.log.exists() else []

    def model(self) -> Model:
        """Return a model of the server."""
        environ = {"TEST_BASE_URL": self.url}
        return open_model("openai-api/test/m", lambda name: ModelConfig(name, environ, connections=SLOTS))


@contextmanager
def serve(log: Path, latency_s: float = 0.005) -> Iterator[Endpoint]:
    """Start a mock model server that logs the requests it answers."""
    with mock_model(Behaviour(latency_s, SLOTS, str(log))) as url:
        yield Endpoint(url, log)


def _run_in_child(folder: Path, cases: int, endpoint: Endpoint, largest: int | None) -> None:
    """Execute a run like the command; this is what a killed process does."""
    if largest is not None:
        import resource  # noqa: PLC0415 - not on Windows, and only for this test

        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    try:
        run(make_job(folder, cases, endpoint.model()), ask_nobody)
    except KeyboardInterrupt:
        sys.exit(130)
    except RagbedError as error:
        sys.exit(error.exit_code)


def _fill(path: Path, worker: int, entries: int, gate: Barrier) -> None:
    gate.wait()
    told: list[str] = []

    async def fill() -> None:
        cache = Cache(path, told.append)
        for number in range(entries):
            cache.keep(f"{worker}-{number}", Completion(outcome="ok", reply=str(number)))
            await asyncio.sleep(0)
        cache.close()

    asyncio.run(fill())
    sys.exit(len(told))


CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["tests.runs.harness", "ragbed.models.providers.openai", "ragbed.ui.viewer.app", "ragbed.ui.review.app"]
)


def start(folder: Path, cases: int, endpoint: Endpoint, largest: int | None = None) -> BaseProcess:
    """Start a run in another process, within a few milliseconds, with a limit on the size of files."""
    process = CONTEXT.Process(target=_run_in_child, args=(folder, cases, endpoint, largest))
    process.start()
    return process


def wait_until_asked(endpoint: Endpoint, calls: int, process: BaseProcess) -> None:
    """Wait until this number of calls is answered or the process has ended."""
    while endpoint_size(endpoint) < calls and process.is_alive():
        time.sleep(0.001)


def endpoint_size(endpoint: Endpoint) -> int:
    """Return the number of answered calls; each is a line of 17 bytes."""
    return endpoint.log.stat().st_size // 17 if endpoint.log.exists() else 0


def canonical(folder: Path) -> bytes:
    """Return a run as canonical lines."""
    with open_store(folder, create=False) as store:
        results = store.results(by_name=True)
        return b"".join(trial_line(result, score_result(result, score), canonical=True) for result in results)


def completions(folder: Path) -> list[Completion]:
    """Return the stored outcomes, in the order of the cases."""
    with open_store(folder, create=False) as store:
        return [result.completion for result in store.results()]


def change_file(folder: Path, *statements: str) -> None:
    """Change the file of a run as another program does."""
    with closing(sqlite3.connect(folder / "run.sqlite")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def run_on(respond: Respond, *words: str) -> Done:
    """Type `RUN` and more words; a function computes the responses."""
    with function_model(respond) as url:
        return type_command(*RUN, *words, env={"T_BASE_URL": url, "T_API_KEY": "key-of-the-test-0001"})


def replies(folder: Path) -> dict[str, str | None]:
    """Return the stored results by case."""
    with open_store(folder, create=False) as store:
        return {result.case.case: result.completion.reply for result in store.results()}


def replies_so_far(folder: Path) -> dict[str, str | None]:
    """Return the stored results by case; none if the run is not planned yet."""
    try:
        return replies(folder)
    except RagbedError:
        return {}


def fill_together(path: Path, processes: int, entries: int) -> list[int | None]:
    """Let several processes open and write one cache at the same time; return their exit codes."""
    gate = CONTEXT.Barrier(processes)
    workers = [CONTEXT.Process(target=_fill, args=(path, worker, entries, gate)) for worker in range(processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(PATIENCE_S)
    return [worker.exitcode for worker in workers]
