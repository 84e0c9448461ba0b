"""Measure `ragbed run` against a mock server with fixed latency and slots.

    python -m benches run [--many]

Prints one line per figure with the target and the measured value. Both sides of a ratio are complete processes,
measured in one run with the same server, which is a separate process. `--many` adds 100,000 calls (several minutes).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ragbed.models import ModelConfig, open_model
from ragbed.runs.execution import Job, run
from ragbed.runs.lock import hold
from ragbed.runs.store import open_store
from tests.runs.harness import make_case
from tests.servers.mock_model import Behaviour, mock_model

CALLS = 1_000
SLOTS = 64
TRIES = 5  # the best attempt counts on both sides of a comparison, because other processes run on the machine
MANY = 100_000
FILLER = "据当地媒体报道，这一消息已经得到有关部门证实。" * 40  # about 3 kB, like a prompt with five RGB documents


@dataclass(frozen=True)
class Measured:
    """The times of one process in seconds; `first_s` is the time from its start to its first request."""

    seconds: float
    first_s: float


def main() -> None:
    """Measure all figures; exit with code 1 if one misses its target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--many", action="store_true", help="also the memory for 100,000 calls of 20 ms")
    parser.add_argument("--calls", type=int, default=MANY, help="number of calls for --many")
    parser.add_argument("--memory", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory is not None:
        print_memory(options.memory, options.calls)
        return
    with tempfile.TemporaryDirectory() as folder:
        passed = measure_command(Path(folder))
        if options.many:
            passed += measure_many(Path(folder), options.calls)
    sys.exit(not all(passed))


def measure_command(folder: Path) -> list[bool]:
    """Measure the complete command at two latencies, including start-up, and a bare aiohttp process beside it."""
    data = folder / "made.jsonl"
    _write_items(data, CALLS)
    _run_command(folder / "warm", data, 0.001)
    passed, commands, bare = [], [], []
    for latency_s, most in ((0.4, 1.12), (0.05, 1.6)):
        for number in range(TRIES):  # one after the other, so that both have the same load
            place = folder / f"{latency_s}-{number}"
            place.mkdir()
            commands.append(_run_command(place / "command", data, latency_s))
            bare.append(_run_bare(place / "bare", data, latency_s))
        # Use the minimum of each side: the best ratio would be the one whose bare process ran under the highest load.
        ratio = min(one.seconds for one in commands[-TRIES:]) / min(one.seconds for one in bare[-TRIES:])
        passed.append(_report(f"{CALLS:,} calls of {1000 * latency_s:g} ms", ratio, most, "× a bare aiohttp process"))
    first_s, bare_first_s = (min(one.first_s for one in found) for found in (commands, bare))
    unit = f"s ({first_s / bare_first_s:.2f} × the bare process)"
    return [*passed, _report("first request after", first_s, 0.6, unit)]


def measure_many(folder: Path, calls: int) -> list[bool]:
    """Measure the memory of the call loop for many calls."""
    folder = folder / "many"
    folder.mkdir()
    with mock_model(Behaviour(0.02, SLOTS, str(folder / "calls"))) as url:
        words = ["--memory", str(folder), "--calls", str(calls)]
        done = subprocess.run(
            [sys.executable, "-m", "benches", "run", *words], env=_environ(url), stdout=subprocess.PIPE, check=True
        )
    answered = len((folder / "calls").read_text("utf-8").split())
    if answered != calls:
        raise SystemExit(f"{answered:,} of {calls:,} calls were answered")
    return [_report(f"memory for {calls:,} calls", float(done.stdout), 120, "MB")]


def _run_command(folder: Path, data: Path, latency_s: float) -> Measured:
    words = ["run", "-m", "openai-api/bench/m", "-d", str(data), "--testbeds", "noise", "--noise", "0"]
    words += ["--max-connections", str(SLOTS), "--out", str(folder / "run")]
    return _measure(folder, latency_s, lambda _: ["ragbed", *words])


def _run_bare(folder: Path, data: Path, latency_s: float) -> Measured:
    return _measure(folder, latency_s, lambda url: ["benches.bare_loop", url, str(data), str(folder / "replies.jsonl")])


def _measure(folder: Path, latency_s: float, words: Callable[[str], list[str]]) -> Measured:
    """Measure a process that runs a module with the given arguments and calls the server."""
    folder.mkdir()
    calls = folder / "calls"
    with mock_model(Behaviour(latency_s, SLOTS, str(calls))) as url:
        environ = _environ(url) | {"RAGBED_CACHE_DIR": str(folder / "cache")}
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", *words(url)], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None and not (calls.exists() and calls.stat().st_size):
            time.sleep(0.005)
        first_s = time.monotonic() - started - latency_s
        if process.wait():
            raise SystemExit(f"{words(url)[0]} ended with {process.returncode}")
    return Measured(time.monotonic() - started, first_s)


def _environ(url: str) -> dict[str, str]:
    """Return the environment for the processes, in which Python caches bytecode as for an installed package."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"BENCH_BASE_URL": url}


def print_memory(folder: Path, calls: int) -> None:
    """Execute a run that has already been planned, and print the highest memory in MB."""
    with hold(folder / "run"), open_store(folder / "run", create=True) as store:
        store.plan({"repeats": "1"}, (make_case(number, filler=FILLER) for number in range(calls)))
    model = open_model("openai-api/bench/m", lambda name: ModelConfig(name, os.environ, connections=SLOTS))
    run(Job(folder / "run", {"repeats": "1"}, lambda: (), [model]), lambda *_: None)
    with open_store(folder / "run", create=False) as store:
        ok = sum(result.completion.outcome == "ok" for result in store.results())
    if ok != calls:
        raise SystemExit(f"{ok:,} of {calls:,} responses were stored")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _write_items(path: Path, count: int) -> None:
    """Write items in RGB's format, with prompts as long as RGB's."""
    text = FILLER[: len(FILLER) // 5]
    with open(path, "w", encoding="utf-8") as sink:
        for number in range(count):
            documents = [f"{text}{number}-{place}。" for place in range(5)]
            record = {"id": number, "query": f"第{number}个问题是什么？", "answer": [f"{number}-"]}
            sink.write(json.dumps(record | {"positive": documents, "negative": documents}, ensure_ascii=False) + "\n")


def _report(what: str, measured: float, target: float, unit: str) -> bool:
    passed = measured <= target
    print(f"{what:28} {measured:8.2f} {unit:32} target ≤ {target:g}, {'ok' if passed else 'MISSED'}", flush=True)
    return passed
