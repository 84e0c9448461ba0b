"""Kill runs that use provider batches in every state: no batch is created twice, and every case has an outcome.

The server rejects a parameter, so that calls are sent again in later batches.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from benches.torture.bounds import Tally
from ragbed.runs.prices import cost_of, find_price
from ragbed.runs.status import read_status
from ragbed.runs.store import open_store
from tests.runs.harness import canonical
from tests.servers.mock_batches import BatchBehaviour, mock_batches

COUNT = 50  # number of kills for each model
_EVENTS = ("create", "poll", "download", "start", "collect")
# The models with the events at which they are killed. Anthropic has no upload, so a session would never see that event.
_MODELS = {"openai/gpt-4o-mini": (*_EVENTS, "upload"), "anthropic/claude-sonnet-4-5": _EVENTS}
_LINES = 6  # number of requests per batch
_LONGEST_S = 120.0  # maximum duration of a session
_SCRIPT = """
import sys
import ragbed
from ragbed.models.providers.batches import AnthropicBatches, BatchService
from ragbed.runs import batch_loop

batch_loop._LISTED_AFTER_S = 0.0  # the mock server lists a batch at once
AnthropicBatches.max_lines = BatchService.max_lines = int(sys.argv[3])
options = {"testbeds": "noise", "limit": 20, "cache": "off", "progress": False, "batch": sys.argv[4] == "batch"}
ragbed.run(sys.argv[1], "ragbed-mini-en_base", out=sys.argv[2], **options)
"""


def torture(folder: Path, count: int, seed: int) -> bool:
    """Kill runs of each model until there have been enough kills, and compare each run with a direct run."""
    tally, draw = Tally("batches"), random.Random(seed)
    for model in _MODELS:
        kills = Counter[str]()
        while kills.total() < count:
            place = Path(tempfile.mkdtemp(dir=folder))
            tally.add("runs", model, _torture_model(place, model, draw, kills, count))
        print(f"  SIGKILLs of {model}: {dict(kills)}", flush=True)
    return tally.close()


def _torture_model(place: Path, model: str, draw: random.Random, kills: Counter[str], count: int) -> list[str]:
    behaviour = BatchBehaviour(
        delay_s=0.2, expired=0.1, failed=0.05, refused_polls=0.1, rejects=("temperature",),
        log=str(place / "log"), pause_s=0.05,
    )  # fmt: skip
    with mock_batches(behaviour) as url:
        last = min(count, kills.total() + max(1, count // 4))  # several runs, each of which is killed several times
        return _torture_run(place, model, url, draw, kills, last)


def _torture_run(place: Path, model: str, url: str, draw: random.Random, kills: Counter[str], count: int) -> list[str]:
    _start(place / "direct", model, url, "direct").wait()
    run, events = place / "run", _MODELS[model]
    while kills.total() < count:
        process = _start(run, model, url, "batch")
        event = events[kills.total() % len(events)]
        is_over = _wait(process, place / "log", event, draw)
        process.kill()
        process.wait()
        if is_over:
            break
        kills[event] += 1
    last = _start(run, model, url, "batch")
    last.wait(_LONGEST_S)
    with urlopen(f"{url}/stats") as page:
        return _problems(place, model, json.load(page))


def _start(run: Path, model: str, url: str, way: str) -> subprocess.Popen[bytes]:
    environ = {
        **os.environ,
        "OPENAI_API_KEY": "sk-test",
        "ANTHROPIC_API_KEY": "sk-test",
        "OPENAI_BASE_URL": f"{url}/v1",
        "ANTHROPIC_BASE_URL": url,
    }
    words = [sys.executable, "-c", _SCRIPT, model, str(run), str(_LINES), way]
    return subprocess.Popen(words, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _wait(process: subprocess.Popen[bytes], log: Path, event: str, draw: random.Random) -> bool:
    """Wait for an event in this session or for a random time; return whether the session exited first."""
    before, wanted, end = _events(log), draw.randrange(1, 3), time.monotonic() + _LONGEST_S
    if event == "start":
        end = time.monotonic() + draw.random() * 6
    while time.monotonic() < end:
        if process.poll() is not None:
            return True
        seen = _events(log)[len(before) :]
        if event == "collect" and "download" in seen:
            time.sleep(draw.random() * 0.3)
            return process.poll() is not None
        if seen.count(event) >= wanted:
            return False
        time.sleep(0.005)
    return False


def _events(log: Path) -> list[str]:
    return log.read_text("utf-8").splitlines() if log.exists() else []


def _problems(place: Path, model: str, stats: dict[str, Any]) -> list[str]:
    problems = []
    run, direct = place / "run", place / "direct"
    if stats["keys"] > 1:
        problems.append(f"twice: a batch was created {stats['keys']} times")
    if (most := max(stats["paid"].values())) > 1:
        problems.append(f"paid twice: a request has a response in {most} batches")
    if canonical(run) != canonical(direct):
        problems.append("different: the run is not equal to the direct one")
    status = read_status(run)
    if status.models[0].pending or status.batches:
        problems.append(f"lost: {status.models[0].pending} cases are pending, {len(status.batches)} batches are open")
    if 2 * _spent(run, model) != _spent(direct, model):
        problems.append(f"cost: {_spent(run, model)} is not half of {_spent(direct, model)}")
    return problems


def _spent(run: Path, model: str) -> Decimal:
    price = find_price(model)
    with open_store(run, create=False) as store:
        costs = [cost_of(result.completion, price) for result in store.results() if result.completion.usage]
    return sum((cost for cost in costs if cost is not None), Decimal(0))
