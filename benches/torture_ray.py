"""Kill nodes and drivers of `--engine ray` at random moments, during runs and builds.

    python -m benches torture_ray [--kills 20] [--cases 20000] [--pages 5000]

The endpoint's own log is the oracle of what was asked. Prints one line a trial; exit code 1 if a promise is broken.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path

from ragbed.data.native import to_line
from ragbed.runs.engines import EngineSpec, open_engine
from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.status import read_status
from tests.items import base_item
from tests.runs.engines.building import build_with, write_pages
from tests.runs.engines.cluster import Nodes, running_cluster, stations
from tests.runs.harness import Endpoint, canonical, endpoint_size, serve

AT_ONCE = 32


class Torture:
    """One cluster, one endpoint, and work that is disturbed."""

    def __init__(self, folder: Path, nodes: Nodes, endpoint: Endpoint, kills: int) -> None:
        self.folder, self.nodes, self.endpoint, self.kills = folder, nodes, endpoint, kills
        self.draw = random.Random(kills)

    def start(self, data: Path, run: Path, *more: str) -> subprocess.Popen[bytes]:
        """The whole command, as a user types it."""
        words = [
            sys.executable,
            "-m",
            "ragbed",
            "run",
            "-m",
            "openai-api/test/m",
            "-d",
            str(data),
            "--testbeds",
            "noise",
        ]
        words += ["--max-connections", str(AT_ONCE), "--no-cache", "--out", str(run), *more]
        with open(run.with_suffix(".log"), "ab") as log:
            return subprocess.Popen(
                words, env=os.environ | {"TEST_BASE_URL": self.endpoint.url}, stdout=log, stderr=log
            )

    def disturb_run(self, cases: int, *, driver: bool) -> bool:
        """Nodes, or the driver, end again and again while a run is asked."""
        data, name = self.folder / "made.jsonl", "drivers" if driver else "nodes"
        data.write_bytes(b"".join(to_line(base_item(number)) for number in range(cases // 5)))
        there = ("--engine", "ray", "--cluster", self.nodes.address, "--replicas", "4", "--cpus-per-replica", "0.25")
        run = self.folder / name
        first, begun = endpoint_size(self.endpoint), time.monotonic()
        process = self.start(data, run, *there)
        for number in range(self.kills):
            until = first + int(cases * (number + self.draw.random()) / self.kills)
            while endpoint_size(self.endpoint) < until and process.poll() is None:
                time.sleep(0.02)
            if process.poll() is not None:
                break
            if driver:
                process.kill()
                process.wait()
                process = self.start(data, run, *there)
            else:
                self.nodes.kill_any(self.draw)
                self.nodes.add()
        code, seconds = process.wait(), time.monotonic() - begun
        calls, status = self.endpoint.calls()[first:], read_status(run)
        here = self.folder / "here"
        if not here.exists():
            assert self.start(data, here).wait() == 0
        equal, repeated, twice = (
            canonical(run) == canonical(here),
            len(calls) - len(set(calls)),
            status.maybe_paid_twice,
        )
        lost = cases - status.models[0].ok
        held = code == 0 and equal and not lost and len(set(calls)) == cases and repeated <= twice
        held = held and twice <= self.kills * AT_ONCE and not (driver and len(stations()) > 4)
        told = f"{cases:,} cases, {lost} lost, {repeated} asked again (≤ {twice} named by status), equal bytes: {equal}"
        return _tell(f"{self.kills} {name} killed", held, f"{told}, {seconds:,.0f} s, exit {code}")

    def disturb_build(self, pages: int) -> bool:
        """Nodes end again and again while pages are read and cut; the work is in a thread, nodes start in the first."""
        source = self.folder / "pages"
        write_pages(source, pages)
        here = build_with(LocalEngine(2), source, self.folder / "build-here")
        kills, begun = 0, time.monotonic()
        with closing(open_engine(EngineSpec("ray", self.nodes.address))) as engine, ThreadPoolExecutor(1) as thread:
            making = thread.submit(build_with, engine, source, self.folder / "build-there")
            while kills < self.kills and not wait([making], self.draw.random() * 6).done:
                self.nodes.kill_any(self.draw)
                self.nodes.add()
                kills += 1
            there = making.result()
        seconds, equal, (_, articles, passages) = time.monotonic() - begun, there == here, there
        told = f"{articles:,} articles and {passages:,} passages of {pages:,} pages, equal bytes: {equal}"
        return _tell(f"{kills} nodes killed in a build", equal and articles == pages, f"{told}, {seconds:,.0f} s")


def _tell(what: str, held: bool, told: str) -> bool:
    print(f"{what:30} {'ok    ' if held else 'BROKEN'} {told}", flush=True)
    return held


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["nodes", "drivers", "build"])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--pages", type=int, default=5_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="torture-ray-") as name, running_cluster(3) as nodes:
        folder, held = Path(name), []
        with serve(folder / "calls") as endpoint:
            torture = Torture(folder, nodes, endpoint, chosen.kills)
            if "nodes" in chosen.what:
                held.append(torture.disturb_run(chosen.cases, driver=False))
            if "drivers" in chosen.what:
                held.append(torture.disturb_run(chosen.cases, driver=True))
            if "build" in chosen.what:
                held.append(torture.disturb_build(chosen.pages))
    return 0 if all(held) else 1
