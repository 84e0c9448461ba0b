"""Measure `--engine ray` on a real cluster that consists of several raylets on this machine.

    python -m benches ray_engine [efficiency] [large] [--planned 100000 --asked 20000]

efficiency: calls per second with 1 to 8 workers compared with the limit of the server, the driver's CPU time per call,
and whether the results are the same bytes as with the local engine. large: the driver's memory while a scripted model
answers a part of a large plan.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from ragbed.models import ModelConfig
from ragbed.runs.call_loop import CallProgress
from ragbed.runs.engines import ReplicaSpec, open_engine
from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.execution import Job, run
from ragbed.schema import Case
from tests.runs.engines.cluster import Nodes, running_cluster
from tests.runs.harness import canonical, make_case, make_job
from tests.servers.mock_model import Behaviour, mock_model

LATENCY_S, PER_WORKER = 0.5, 8  # server latency and connections per worker, which limit a worker's calls per second
SECONDS = 12  # duration of a measurement in seconds, excluding overhead


class Watch:
    """A watch that records the time and this process's CPU time at each result."""

    def __init__(self) -> None:
        self.moments: list[tuple[float, float]] = []

    def __call__(self, _: str, __: CallProgress) -> None:
        self.moments.append((time.monotonic(), time.process_time()))

    def between(self, first: int, last: int) -> tuple[float, float]:
        """Return the calls per second, and the milliseconds of CPU time per call, between two results."""
        (start, cpu_start), (end, cpu_end) = self.moments[first], self.moments[last]
        return (last - first) / (end - start), 1000 * (cpu_end - cpu_start) / (last - first)


def measure_efficiency(nodes: Nodes, folder: Path) -> None:
    print(f"latency-bound: {LATENCY_S} s per call, {PER_WORKER} concurrent calls per worker")
    print("workers  calls/s  limit  efficiency  driver ms/call  equal bytes")
    with mock_model(Behaviour(LATENCY_S, slots=4096)) as url:
        for workers in (1, 2, 4, 8):
            limit = workers * PER_WORKER / LATENCY_S
            cases, at_once = int(limit * SECONDS), workers * PER_WORKER
            wish = ModelConfig("test/m", {"TEST_BASE_URL": url}, connections=at_once)
            watch, there, here = Watch(), folder / f"there-{workers}", folder / f"here-{workers}"
            with closing(_open(nodes, workers)) as engine:
                run(make_job(there, cases, engine.open_model("openai-api/test/m", wish)), watch)
            run(make_job(here, cases, LocalEngine().open_model("openai-api/test/m", wish)), lambda *_: None)
            # Measure while all workers are busy, excluding the start and the end.
            rate, cpu_ms = watch.between(3 * at_once, cases - at_once)
            equal = canonical(there) == canonical(here)
            print(f"{workers:7} {rate:8.1f} {limit:6.0f} {rate / limit:11.3f} {cpu_ms:15.2f}  {equal}", flush=True)


def measure_large(nodes: Nodes, folder: Path, planned: int, asked: int) -> None:
    """Run the driver in this process while a thread records its memory."""
    sizes: list[tuple[int, float]] = []
    ended = threading.Event()
    progress = CallProgress(0)

    def watch(_: str, told: CallProgress) -> None:
        nonlocal progress
        progress = told
        if told.done == asked:
            os.kill(os.getpid(), signal.SIGINT)

    def note() -> None:
        while not ended.wait(1.0):
            sizes.append((progress.done, _resident_mb()))

    noting = threading.Thread(target=note)
    noting.start()
    started_at = time.monotonic()
    try:
        with closing(_open(nodes, 4)) as engine:
            job = Job(
                folder / "large",
                {"cases": str(planned), "repeats": "1"},
                lambda: _planned(planned, started_at),
                [engine.open_model("scripted/oracle", ModelConfig("oracle", {}))],
            )
            cpu, started = time.process_time(), time.monotonic()
            with suppress(KeyboardInterrupt):
                run(job, watch)
            seconds, used = time.monotonic() - started, time.process_time() - cpu
    finally:
        ended.set()
        noting.join()
    at_work = [size for done, size in sizes if done > asked * 0.2]
    print(f"planned and evaluated: {planned:,} and {progress.done:,} in {seconds:,.0f} s, {used:,.0f} s of CPU time")
    if at_work:
        ever = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        first, last = at_work[0], at_work[-1]
        print(f"driver's memory: {first:.0f} MB after a fifth, {last:.0f} MB at the end, peak {ever:.0f} MB")


def _planned(count: int, started_at: float) -> Iterator[Case]:
    for number in range(count):
        yield make_case(number)
    print(f"planned {count:,} cases in {time.monotonic() - started_at:,.0f} s, {_resident_mb():.0f} MB", flush=True)


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text("utf-8").split()[1]) * resource.getpagesize() / 1e6


def _open(nodes: Nodes, workers: int) -> LocalEngine:
    return open_engine("ray", nodes.address, ReplicaSpec(workers, cpus=0.25))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["efficiency", "large"])
    parser.add_argument("--planned", type=int, default=100_000)
    parser.add_argument("--asked", type=int, default=20_000)
    chosen = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with running_cluster(2) as nodes, tempfile.TemporaryDirectory(prefix="bench-ray-") as folder:
        if "efficiency" in chosen.what:
            measure_efficiency(nodes, Path(folder))
        if "large" in chosen.what:
            measure_large(nodes, Path(folder), chosen.planned, chosen.asked)
