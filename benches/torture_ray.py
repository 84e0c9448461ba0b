"""Kill nodes and drivers of `--engine ray` at random moments during runs.

    python -m benches torture_ray [--kills 20] [--cases 20000]

The server's log shows which calls were made. Prints one line per trial; exits with code 1 if a guarantee is violated.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ragbed.data.native import to_line
from ragbed.runs.status import read_status
from tests.items import base_item
from tests.runs.engines.cluster import Nodes, running_cluster, worker_processes
from tests.runs.harness import Endpoint, canonical, endpoint_size, serve

AT_ONCE = 32


class Torture:
    """A cluster, a server, and work to interrupt."""

    def __init__(self, folder: Path, nodes: Nodes, endpoint: Endpoint, kills: int) -> None:
        self.folder, self.nodes, self.endpoint, self.kills = folder, nodes, endpoint, kills
        self.draw = random.Random(kills)

    def start(self, data: Path, run: Path, *more: str) -> subprocess.Popen[bytes]:
        """Start the command as a user would."""
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
        words += ["--max-connections", str(AT_ONCE), "--cache", "off", "--out", str(run), *more]
        with open(run.with_suffix(".log"), "ab") as log:
            return subprocess.Popen(
                words, env=os.environ | {"TEST_BASE_URL": self.endpoint.url}, stdout=log, stderr=log
            )

    def disturb_run(self, cases: int, *, driver: bool) -> bool:
        """Repeatedly kill nodes or the driver during a run."""
        data, name = self.folder / "made.jsonl", "drivers" if driver else "nodes"
        data.write_bytes(b"".join(to_line(base_item(number)) for number in range(cases // 5)))
        there = ("--engine", "ray", "--cluster", self.nodes.address, "--replicas", "4", "--cpus-per-replica", "0.25")
        run = self.folder / name
        first, started = endpoint_size(self.endpoint), time.monotonic()
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
        code, seconds = process.wait(), time.monotonic() - started
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
        passed = code == 0 and equal and not lost and len(set(calls)) == cases and repeated <= twice
        passed = passed and twice <= self.kills * AT_ONCE and not (driver and len(worker_processes()) > 4)
        counts = f"{cases:,} cases, {lost} lost, {repeated} repeated (status reports {twice}), equal bytes: {equal}"
        return _report(f"{self.kills} {name} killed", passed, f"{counts}, {seconds:,.0f} s, exit {code}")


def _report(what: str, passed: bool, details: str) -> bool:
    print(f"{what:30} {'ok    ' if passed else 'BROKEN'} {details}", flush=True)
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["nodes", "drivers"])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--cases", type=int, default=20_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="torture-ray-") as name, running_cluster(3) as nodes:
        folder, held = Path(name), []
        with serve(folder / "calls") as endpoint:
            torture = Torture(folder, nodes, endpoint, chosen.kills)
            if "nodes" in chosen.what:
                held.append(torture.disturb_run(chosen.cases, driver=False))
            if "drivers" in chosen.what:
                held.append(torture.disturb_run(chosen.cases, driver=True))
    return 0 if all(held) else 1
