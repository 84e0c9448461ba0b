"""Measure `ragbed run` against a mock server with fixed latency and slots.

    python -m benches run [--many]

Prints one line a figure: asked, reached, and whether that holds; ratios are taken within one run, and the endpoint
is a process of its own. `--many` adds the run of 100,000 calls (several minutes).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Model
from ragbed.runs.call_loop import CallProgress
from ragbed.runs.execution import Job, run
from ragbed.runs.lock import hold
from ragbed.runs.store import open_store
from ragbed.schema import Case
from tests.runs.harness import make_case
from tests.servers.mock_model import Behaviour, mock_model

CALLS = 1_000
SLOTS = 64
TRIES = 3
"""The best of so many is taken, of the command and of what it is compared with: the machine has other things to do."""
MANY = 100_000
SETTLED = 20_000
"""From so many calls on memory must be flat."""
FILLER = "据当地媒体报道，这一消息已经得到有关部门证实。" * 40
"""About 3 kB, as a prompt with RGB's five documents has."""


@dataclass(frozen=True)
class Measured:
    """One run of a process."""

    seconds: float
    first_s: float
    """From the start of the process to its first request."""
    cpu_s: float
    peak_mb: float


def main() -> None:
    """Measures all figures; exit code 1 if one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--many", action="store_true", help="also 100,000 calls of 20 ms")
    parser.add_argument("--calls", type=int, default=MANY, help="of --many")
    parser.add_argument("--loop", choices=LOOPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.loop is not None:
        LOOPS[told.loop](told.folder, told.calls)
        return
    with tempfile.TemporaryDirectory() as folder:
        held = measure_command(Path(folder))
        if told.many:
            held += measure_many(Path(folder), told.calls)
    sys.exit(not all(held))


def measure_command(folder: Path) -> list[bool]:
    """The whole command at two latencies, start-up included."""
    data, longer = folder / "made.jsonl", folder / "longer.jsonl"
    _write_items(data, CALLS)
    _write_items(longer, 3 * CALLS)
    _run_command(folder / "warm", data, 0.001)
    slow = _best(lambda number: _run_command(folder / f"slow-{number}", data, 0.4))
    pairs = [  # one after the other, so that both meet the same machine
        (_run_bare(folder / f"bare-{n}", data, 0.05), _run_command(folder / f"quick-{n}", data, 0.05))
        for n in range(TRIES)
    ]
    # Each at its own best: the best of the ratios would be the one whose bare loop met the busiest moment.
    whole, alone = min(pair[0][0] for pair in pairs), min(pair[0][1] for pair in pairs)
    quick = min((pair[1] for pair in pairs), key=lambda one: one.seconds)
    long = _run_command(folder / "long", longer, 0.05)
    limit = CALLS * 0.4 / SLOTS
    return [
        _tell(f"{CALLS:,} calls of 400 ms, whole command", slow.seconds / limit, 1.15, "× N·latency/slots"),
        _tell(f"{CALLS:,} calls of 50 ms, whole command", quick.seconds / whole, 1.2, "× a bare aiohttp process"),
        _tell("  and without that one's start-up", quick.seconds / alone, 1.2, "× its loop alone"),
        _tell("  that loop, for comparison", alone / (CALLS * 0.05 / SLOTS), None, "× N·latency/slots"),
        _tell("  first request after", slow.first_s, 0.6, "s"),
        _tell("  CPU per call, start-up included", 1000 * quick.cpu_s / CALLS, 1.0, "ms"),
        _tell("  CPU of each further call", 500 * (long.cpu_s - quick.cpu_s) / CALLS, 1.0, "ms"),
        _tell("  peak memory", quick.peak_mb, 100, "MB"),
    ]


def measure_many(folder: Path, calls: int) -> list[bool]:
    """The asking loop alone, with a store and without one, over prompts of the same size."""
    # Half before and half after: what else the machine does, and how that changes, then counts on both sides.
    before = _run_loop("without", folder / "before", calls // 2, 0.02)
    durable = _run_loop("durable", folder / "durable", calls, 0.02)
    after = _run_loop("without", folder / "after", calls - calls // 2, 0.02)
    without = {name: before[name] + after[name] for name in ("seconds", "cpu_s")}
    for name, told in (("durable", durable), ("without a store", without)):
        print(f"  {name}: {told['seconds']:.1f} s, {1000 * told['cpu_s'] / calls:.2f} ms CPU per call")
    halves = f"{before['seconds']:.1f} s and {after['seconds']:.1f} s"
    print(f"  the two halves without: {halves}; alike on a quiet machine")
    return [
        _tell(f"{calls:,} calls of 20 ms, durable", durable["seconds"] / without["seconds"], 1.3, "× without a store"),
        _tell("  CPU, durable", durable["cpu_s"] / without["cpu_s"], None, "× without a store"),
        _tell("  peak memory", durable["peak_mb"], 150, "MB"),
        _tell(f"  growth after {SETTLED:,} calls", durable["grown_mb"], 10, "MB"),
    ]


def _best(measure: Callable[[int], Measured]) -> Measured:
    return min((measure(number) for number in range(TRIES)), key=lambda one: one.seconds)


def _run_command(folder: Path, data: Path, latency_s: float) -> Measured:
    folder.mkdir()
    words = ["run", "-m", "openai-api/bench/m", "-d", str(data), "--testbeds", "noise", "--noise", "0"]
    words += ["--max-connections", str(SLOTS), "--out", str(folder / "run")]
    with mock_model(Behaviour(latency_s, SLOTS, str(folder / "calls"))) as url:
        environ = _environ(url) | {"RAGBED_CACHE_DIR": str(folder / "cache")}
        begun = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "ragbed", *words], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while not (folder / "calls").exists() or not (folder / "calls").stat().st_size:
            time.sleep(0.005)
        first_s = time.monotonic() - begun - latency_s
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"ragbed run ended with {process.returncode}")
    seconds = time.monotonic() - begun
    return Measured(seconds, first_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def _run_bare(folder: Path, data: Path, latency_s: float) -> tuple[float, float]:
    """Seconds of the whole process, as of the command, and of its loop alone."""
    folder.mkdir()
    with mock_model(Behaviour(latency_s, SLOTS, str(folder / "calls"))) as url:
        words = [sys.executable, "-m", "benches.bare_loop", url, str(data), str(folder / "replies.jsonl")]
        begun = time.monotonic()
        done = subprocess.run(words, env=_environ(url), stdout=subprocess.PIPE, check=True)
        seconds = time.monotonic() - begun
    return seconds, float(done.stdout)


def _environ(url: str) -> dict[str, str]:
    """What the processes are started with; as an installed package is, they are compiled after the first run."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"BENCH_BASE_URL": url}


def _run_loop(loop: str, folder: Path, calls: int, latency_s: float) -> dict[str, float]:
    folder.mkdir()
    with mock_model(Behaviour(latency_s, SLOTS, str(folder / "calls"))) as url:
        words = [sys.executable, "-m", "benches", "run", "--loop", loop, "--calls", str(calls), "--folder", str(folder)]
        done = subprocess.run(words, env=_environ(url), stdout=subprocess.PIPE, check=True)
    told: dict[str, float] = json.loads(done.stdout)
    answered = len((folder / "calls").read_text().split())
    if not told["ok"] == answered == calls:
        raise SystemExit(f"{loop}: of {calls:,} calls {answered:,} were answered and {told['ok']:,} came back")
    return told


# What runs in a process of its own.


def loop_without(_: Path, calls: int) -> None:
    """Our own loop without a store: the same model, the same workers, nothing kept."""
    model, cases, ok = _open_model(), _cases(calls), 0

    async def work() -> None:
        nonlocal ok
        for case in cases:
            completion = await model.complete(case)
            ok += completion.outcome == "ok"

    async def ask() -> None:
        await asyncio.gather(*(work() for _ in range(SLOTS)))
        await model.close()

    begun, cpu = time.monotonic(), time.process_time()
    asyncio.run(ask())
    print(json.dumps({"seconds": time.monotonic() - begun, "cpu_s": time.process_time() - cpu, "ok": ok}))


def loop_durable(folder: Path, calls: int) -> None:
    """The whole runner on a run that was planned before."""
    with hold(folder / "run"), open_store(folder / "run", create=True) as store:
        store.plan({"repeats": "1"}, _cases(calls))
    settled = 0.0

    def watch(_: str, progress: CallProgress) -> None:
        nonlocal settled
        if progress.done == min(SETTLED, calls):
            settled = _memory_mb("VmRSS")

    job = Job(folder / "run", {"repeats": "1"}, lambda: (), [_open_model()])
    begun, cpu = time.monotonic(), time.process_time()
    run(job, watch)
    told = {"seconds": time.monotonic() - begun, "cpu_s": time.process_time() - cpu}
    told |= {"peak_mb": _memory_mb("VmHWM"), "grown_mb": _memory_mb("VmRSS") - settled}
    with open_store(folder / "run", create=False) as store:
        told["ok"] = sum(result.completion.outcome == "ok" for result in store.results())
    print(json.dumps(told))


LOOPS: dict[str, Callable[[Path, int], None]] = {"without": loop_without, "durable": loop_durable}


def _open_model() -> Model:
    return open_model("openai-api/bench/m", lambda name: ModelConfig(name, os.environ, connections=SLOTS))


def _cases(count: int) -> Iterator[Case]:
    return (make_case(number, filler=FILLER) for number in range(count))


def _write_items(path: Path, count: int) -> None:
    """Items of RGB's shape whose prompts have RGB's size."""
    text = FILLER[: len(FILLER) // 5]
    with open(path, "w", encoding="utf-8") as sink:
        for number in range(count):
            documents = [f"{text}{number}-{place}。" for place in range(5)]
            record = {"id": number, "query": f"第{number}个问题是什么？", "answer": [f"{number}-"]}
            sink.write(json.dumps(record | {"positive": documents, "negative": documents}, ensure_ascii=False) + "\n")


def _memory_mb(name: str) -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024


def _tell(what: str, reached: float, asked: float | None, unit: str) -> bool:
    held = asked is None or reached <= asked
    verdict = "" if asked is None else f"asked ≤ {asked:g}, {'ok' if held else 'MISSED'}"
    print(f"{what:45} {reached:8.2f} {unit:24} {verdict}", flush=True)
    return held
