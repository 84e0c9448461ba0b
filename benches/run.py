"""Measure `ragbed run` against a mock server with fixed latency and slots.

    python -m benches run [--many]

Prints one line per figure with the target and the measured value. Both sides of a ratio are measured in one run, and
the server is a separate process. `--many` adds a run of 100,000 calls (several minutes).
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
TRIES = 5  # the best attempt counts on both sides of a comparison, because other processes run on the machine
MANY = 100_000
SETTLED = 20_000  # number of calls after which memory must not grow
FILLER = "据当地媒体报道，这一消息已经得到有关部门证实。" * 40  # about 3 kB, like a prompt with five RGB documents


@dataclass(frozen=True)
class Measured:
    """The measurements for one process; `first_s` is the time from its start to its first request."""

    seconds: float
    first_s: float
    cpu_s: float
    peak_mb: float


def main() -> None:
    """Measure all figures; exit with code 1 if one misses its target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--many", action="store_true", help="also 100,000 calls of 20 ms")
    parser.add_argument("--calls", type=int, default=MANY, help="number of calls for --many")
    parser.add_argument("--loop", choices=LOOPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.loop is not None:
        LOOPS[options.loop](options.folder, options.calls)
        return
    with tempfile.TemporaryDirectory() as folder:
        passed = measure_command(Path(folder))
        if options.many:
            passed += measure_many(Path(folder), options.calls)
    sys.exit(not all(passed))


def measure_command(folder: Path) -> list[bool]:
    """Measure the complete command at two latencies, including start-up."""
    data, longer = folder / "made.jsonl", folder / "longer.jsonl"
    _write_items(data, CALLS)
    _write_items(longer, 3 * CALLS)
    _run_command(folder / "warm", data, 0.001)
    slow = _best(lambda number: _run_command(folder / f"slow-{number}", data, 0.4))
    pairs = [  # run one after the other, so that both have the same load
        (_run_bare(folder / f"bare-{n}", data, 0.05), _run_command(folder / f"quick-{n}", data, 0.05))
        for n in range(TRIES)
    ]
    # Use the minimum of each side: the best ratio would be the one whose bare loop ran under the highest load.
    whole, alone = min(pair[0][0] for pair in pairs), min(pair[0][1] for pair in pairs)
    quick = min((pair[1] for pair in pairs), key=lambda one: one.seconds)
    long = _run_command(folder / "long", longer, 0.05)
    limit = CALLS * 0.4 / SLOTS
    return [
        _report(f"{CALLS:,} calls of 400 ms, complete command", slow.seconds / limit, 1.15, "× N·latency/slots"),
        _report(f"{CALLS:,} calls of 50 ms, complete command", quick.seconds / whole, 1.2, "× a bare aiohttp process"),
        _report("  from the first request on", (quick.seconds - quick.first_s) / alone, 1.2, "× its loop alone"),
        _report("  including the start of the command", quick.seconds / alone, 1.2, "× its loop alone"),
        _report("  that loop, for comparison", alone / (CALLS * 0.05 / SLOTS), None, "× N·latency/slots"),
        _report("  first request after", slow.first_s, 0.6, "s"),
        _report("  CPU per call, including the start", 1000 * quick.cpu_s / CALLS, 1.0, "ms"),
        _report("  CPU of each further call", 500 * (long.cpu_s - quick.cpu_s) / CALLS, 1.0, "ms"),
        _report("  peak memory", quick.peak_mb, 100, "MB"),
    ]


def measure_many(folder: Path, calls: int) -> list[bool]:
    """Measure the call loop alone, with and without a store, with prompts of the same size."""
    # Run half before and half after, so that other load on the machine affects both sides.
    before = _run_loop("without", folder / "before", calls // 2, 0.02)
    durable = _run_loop("durable", folder / "durable", calls, 0.02)
    after = _run_loop("without", folder / "after", calls - calls // 2, 0.02)
    without = {name: before[name] + after[name] for name in ("seconds", "cpu_s")}
    for name, found in (("durable", durable), ("without a store", without)):
        print(f"  {name}: {found['seconds']:.1f} s, {1000 * found['cpu_s'] / calls:.2f} ms CPU per call")
    halves = f"{before['seconds']:.1f} s and {after['seconds']:.1f} s"
    print(f"  the two halves without a store: {halves}; similar on an idle machine")
    return [
        _report(
            f"{calls:,} calls of 20 ms, durable", durable["seconds"] / without["seconds"], 1.3, "× without a store"
        ),
        _report("  CPU, durable", durable["cpu_s"] / without["cpu_s"], None, "× without a store"),
        _report("  peak memory", durable["peak_mb"], 150, "MB"),
        _report(f"  growth after {SETTLED:,} calls", durable["grown_mb"], 10, "MB"),
    ]


def _best(measure: Callable[[int], Measured]) -> Measured:
    return min((measure(number) for number in range(TRIES)), key=lambda one: one.seconds)


def _run_command(folder: Path, data: Path, latency_s: float) -> Measured:
    folder.mkdir()
    words = ["run", "-m", "openai-api/bench/m", "-d", str(data), "--testbeds", "noise", "--noise", "0"]
    words += ["--max-connections", str(SLOTS), "--out", str(folder / "run")]
    with mock_model(Behaviour(latency_s, SLOTS, str(folder / "calls"))) as url:
        environ = _environ(url) | {"RAGBED_CACHE_DIR": str(folder / "cache")}
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "ragbed", *words], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while not (folder / "calls").exists() or not (folder / "calls").stat().st_size:
            time.sleep(0.005)
        first_s = time.monotonic() - started - latency_s
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"ragbed run ended with {process.returncode}")
    seconds = time.monotonic() - started
    return Measured(seconds, first_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def _run_bare(folder: Path, data: Path, latency_s: float) -> tuple[float, float]:
    """Return the duration in seconds of the complete process and of its loop alone."""
    folder.mkdir()
    with mock_model(Behaviour(latency_s, SLOTS, str(folder / "calls"))) as url:
        words = [sys.executable, "-m", "benches.bare_loop", url, str(data), str(folder / "replies.jsonl")]
        started = time.monotonic()
        done = subprocess.run(words, env=_environ(url), stdout=subprocess.PIPE, check=True)
        seconds = time.monotonic() - started
    return seconds, float(done.stdout)


def _environ(url: str) -> dict[str, str]:
    """Return the environment for the processes, in which Python caches bytecode as for an installed package."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"BENCH_BASE_URL": url}


def _run_loop(loop: str, folder: Path, calls: int, latency_s: float) -> dict[str, float]:
    folder.mkdir()
    with mock_model(Behaviour(latency_s, SLOTS, str(folder / "calls"))) as url:
        words = [sys.executable, "-m", "benches", "run", "--loop", loop, "--calls", str(calls), "--folder", str(folder)]
        done = subprocess.run(words, env=_environ(url), stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    answered = len((folder / "calls").read_text("utf-8").split())
    if not found["ok"] == answered == calls:
        raise SystemExit(f"{loop}: of {calls:,} calls {answered:,} were answered and {found['ok']:,} were received")
    return found


# The following functions run in separate processes.


def loop_without(_: Path, calls: int) -> None:
    """Call the same model with the same concurrency, but store nothing."""
    model, cases, ok = _open_model(), _cases(calls), 0

    async def work() -> None:
        nonlocal ok
        for case in cases:
            completion = await model.complete(case)
            ok += completion.outcome == "ok"

    async def ask() -> None:
        await asyncio.gather(*(work() for _ in range(SLOTS)))
        await model.close()

    started, cpu = time.monotonic(), time.process_time()
    asyncio.run(ask())
    print(json.dumps({"seconds": time.monotonic() - started, "cpu_s": time.process_time() - cpu, "ok": ok}))


def loop_durable(folder: Path, calls: int) -> None:
    """Execute a run that has already been planned."""
    with hold(folder / "run"), open_store(folder / "run", create=True) as store:
        store.plan({"repeats": "1"}, _cases(calls))
    settled = 0.0

    def watch(_: str, progress: CallProgress) -> None:
        nonlocal settled
        if progress.done == min(SETTLED, calls):
            settled = _memory_mb("VmRSS")

    job = Job(folder / "run", {"repeats": "1"}, lambda: (), [_open_model()])
    started, cpu = time.monotonic(), time.process_time()
    run(job, watch)
    found = {"seconds": time.monotonic() - started, "cpu_s": time.process_time() - cpu}
    found |= {"peak_mb": _memory_mb("VmHWM"), "grown_mb": _memory_mb("VmRSS") - settled}
    with open_store(folder / "run", create=False) as store:
        found["ok"] = sum(result.completion.outcome == "ok" for result in store.results())
    print(json.dumps(found))


LOOPS: dict[str, Callable[[Path, int], None]] = {"without": loop_without, "durable": loop_durable}


def _open_model() -> Model:
    return open_model("openai-api/bench/m", lambda name: ModelConfig(name, os.environ, connections=SLOTS))


def _cases(count: int) -> Iterator[Case]:
    return (make_case(number, filler=FILLER) for number in range(count))


def _write_items(path: Path, count: int) -> None:
    """Write items in RGB's format, with prompts as long as RGB's."""
    text = FILLER[: len(FILLER) // 5]
    with open(path, "w", encoding="utf-8") as sink:
        for number in range(count):
            documents = [f"{text}{number}-{place}。" for place in range(5)]
            record = {"id": number, "query": f"第{number}个问题是什么？", "answer": [f"{number}-"]}
            sink.write(json.dumps(record | {"positive": documents, "negative": documents}, ensure_ascii=False) + "\n")


def _memory_mb(name: str) -> float:
    line = next(line for line in Path("/proc/self/status").read_text("utf-8").splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024


def _report(what: str, measured: float, target: float | None, unit: str) -> bool:
    passed = target is None or measured <= target
    verdict = "" if target is None else f"target ≤ {target:g}, {'ok' if passed else 'MISSED'}"
    print(f"{what:45} {measured:8.2f} {unit:24} {verdict}", flush=True)
    return passed
