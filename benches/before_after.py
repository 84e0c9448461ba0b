"""Compare the speed of the runner, the scorer, the report and the viewer with an earlier commit in alternating runs.

    python -m benches before_after [--commit baab864] [--rounds 5] [--repeats 3]

Both versions run the same commands with this interpreter: `run` against a mock model server, then `score`, `report` and
`view` on that run. Each round runs both versions, in alternating order. A ratio is the best time of this tree divided
by the best time of the commit; CPU time depends least on other processes. Exit code 1 if a CPU ratio exceeds --limit.

Modules are compiled once for each version, as after an installation, also where PYTHONDONTWRITEBYTECODE is set.

Use a quiet machine: on a busy one, `score` of a former commit may start worker processes, because it decided by time.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benches import ROOT
from tests.servers.mock_model import Behaviour, mock_model

DATA = ("ragbed-mini-en_base", "ragbed-mini-zh_base")
LATENCY_S = 0.005
REQUESTS = 30  # number of requests for pages of the case list
FORMER_OPTIONS = {"--num-docs": "--docs"}  # options in this tree and their names in earlier commits


class Version(NamedTuple):
    """A source folder, its output folder, and the options whose names differ from this tree."""

    name: str
    source: Path
    folder: Path
    options: dict[str, str]

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "ragbed", *(self.options.get(word, word) for word in words)]

    def environment(self, url: str) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("RAGBED_")}
        inherited.pop("PYTHONDONTWRITEBYTECODE", None)
        cache = str(self.folder / "cache")
        own = {
            "PYTHONPATH": str(self.source),
            "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode"),
            "RAGBED_CACHE_DIR": cache,
            "BENCH_BASE_URL": url,
            "BENCH_API_KEY": "none",
        }
        return inherited | own


Measured = dict[str, float]  # seconds by measure


def main() -> int:
    """Print the times and ratios for all measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="baab864", help="commit to compare with")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds, after one that is not counted")
    parser.add_argument("--repeats", type=int, default=3, help="calls of each case")
    parser.add_argument("--limit", type=float, default=1.1, help="largest allowed CPU ratio")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, mock_model(Behaviour(latency_s=LATENCY_S)) as url:
        versions = _prepare(Path(temporary), options.commit)
        samples: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for number in range(options.rounds + 1):
            for version in versions if number % 2 else versions[::-1]:
                measured = measure(version, url, number, options.repeats)
                if number:  # the first round compiles the modules
                    for name, seconds in measured.items():
                        samples[name][version.name].append(seconds)
    ratios = _print_table(samples, versions)
    return int(any(ratio > options.limit for name, ratio in ratios.items() if name.endswith("CPU")))


def _prepare(folder: Path, commit: str) -> list[Version]:
    """Extract the commit's source, and return both versions."""
    archive = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder / "source", filter="data")
    versions = [
        Version(commit, folder / "source" / "src", folder / "before", FORMER_OPTIONS),
        Version("this tree", ROOT / "src", folder / "after", {}),
    ]
    for version in versions:
        version.folder.mkdir()
    return versions


def measure(version: Version, url: str, number: int, repeats: int) -> Measured:
    """Run all commands with one version and return their times."""
    run = version.folder / f"run-{number}"
    data = [word for name in DATA for word in ("-d", name)]
    sampling = ("--num-docs", "5", "--repeats", str(repeats), "--no-cache")
    measured = _time(version, url, "run", "-m", "openai-api/bench/m", *data, *sampling, "--out", str(run))
    measured |= _time(version, url, "score", str(run))
    measured |= _time(version, url, "report", str(run), "-f", "html", "-o", str(version.folder / f"{number}.html"))
    return measured | _time_viewer(version, url, run)


def _time(version: Version, url: str, *words: str) -> Measured:
    start = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            version.command(*words),
            env=version.environment(url),
            cwd=version.folder,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        _, status, usage = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status):
            errors.seek(0)
            sys.exit(f"{version.name}: ragbed {' '.join(words)} failed:\n{errors.read().decode()}")
    return {
        f"{words[0]}, elapsed": time.perf_counter() - start,
        f"{words[0]}, CPU": usage.ru_utime + usage.ru_stime,
    }


def _time_viewer(version: Version, url: str, run: Path) -> Measured:
    """Measure how long the viewer takes to index the run and to return the first page of cases."""
    start = time.perf_counter()
    command = version.command("view", str(run), "--port", "0")
    environment = version.environment(url)
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    with process.stdout as output:
        client = _ViewerClient(output.readline().strip())
        while not client.is_ready():
            time.sleep(0.02)
        ready = time.perf_counter() - start
        seconds = []
        for _ in range(REQUESTS):
            before = time.perf_counter()
            client.get("/api/trials?offset=0")
            seconds.append(time.perf_counter() - before)
        process.terminate()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0  # the process was already waited for above
    cpu = usage.ru_utime + usage.ru_stime
    return {"view, until indexed": ready, "view, page of cases": median(seconds), "view, CPU": cpu}


class _ViewerClient:
    """A client that sends the same requests as the viewer's page."""

    def __init__(self, address: str) -> None:
        origin, _, token = address.partition("#")
        self._connection = http.client.HTTPConnection(origin.split("/")[2], timeout=60)
        self._connection.request("POST", "/api/enter", json.dumps(token), {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        self._cookie = (response.getheader("Set-Cookie") or "").partition(";")[0]
        response.read()

    def get(self, path: str) -> dict[str, Any]:
        self._connection.request("GET", path, headers={"Cookie": self._cookie})
        content: dict[str, Any] = json.loads(self._connection.getresponse().read())
        return content

    def is_ready(self) -> bool:
        """Return whether all results of the run are indexed."""
        (run,) = self.get("/api/progress")["runs"]
        return bool(run["results"]) and run["indexed"] == run["results"]


def _print_table(samples: dict[str, dict[str, list[float]]], versions: list[Version]) -> dict[str, float]:
    before, after = (version.name for version in versions)
    print(f"| measure | {before}, best | {after}, best | ratio | ratio of medians |\n|---|---|---|---|---|")
    ratios = {}
    for name, seconds in samples.items():
        old, new = seconds[before], seconds[after]
        ratios[name] = min(new) / min(old)
        medians = median(new) / median(old)
        print(f"| {name} | {min(old):.3f} s | {min(new):.3f} s | {ratios[name]:.2f} | {medians:.2f} |")
    print(f"load average at the end: {os.getloadavg()[0]:.1f}")
    return ratios
