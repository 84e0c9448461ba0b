"""Compare a 1,000-case run through the Python API with the same run on the command line.

    python -m benches api_overhead [--tries N]

Both run in separate processes against a mock server with fixed latency. Start-up is included, and they take turns so
that they run under the same conditions. The command scores and prints; the API counts the outcomes. For comparison, a
third process also reads a table with intervals, which the command does not compute.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benches import check_figure
from benches.run import CALLS, SLOTS, _environ, _write_items
from tests.servers.mock_model import Behaviour, mock_model

LATENCY_S = 0.05
LIMIT = 1.05
_PROGRAM = """
import sys, ragbed
run = ragbed.run("openai-api/bench/m", sys.argv[1], testbeds="noise", noise=0, max_connections=int(sys.argv[3]),
                 out=sys.argv[2])
print(run.outcomes)
if sys.argv[4] == "table":
    print(run.table("noise"))
"""


def main() -> None:
    """Measure both runs; exit with code 1 if the API takes more than 5% longer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=7)
    tries = parser.parse_args().tries
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "items.jsonl"
        _write_items(data, CALLS)
        typed = ["-m", "ragbed", "run", "-m", "openai-api/bench/m", "-d", str(data), "--testbeds", "noise"]
        typed += ["--noise", "0", "--max-connections", str(SLOTS), "--out"]
        commands = {name: ["-c", _PROGRAM, str(data), "OUT", str(SLOTS), name] for name in ("run", "table")}
        commands["command"] = [*typed, "OUT"]
        spent: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for number in range(tries + 1):
            for name, words in commands.items():
                spent[name].append(_measure(Path(folder) / f"{name}-{number}", words))
    best = {name: [min(times) for times in zip(*pairs[1:], strict=True)] for name, pairs in spent.items()}
    for name, (seconds, cpu_s) in best.items():
        print(f"{name:8} {seconds:.2f} s, {cpu_s:.2f} s CPU")
    ratios = {name: best[name][0] / best["command"][0] for name in ("run", "table")}
    held = check_figure(f"{CALLS:,} calls of 50 ms by the API", ratios["run"], LIMIT, "× the command line")
    print(f"with a table with intervals: {ratios['table']:.2f} × the command line")
    sys.exit(not held)


def _measure(folder: Path, words: list[str]) -> tuple[float, float]:
    """Return the wall-clock and CPU seconds of a process."""
    folder.mkdir()
    words = [str(folder / "run") if word == "OUT" else word for word in words]
    with mock_model(Behaviour(LATENCY_S, SLOTS, str(folder / "calls"))) as url:
        environ = _environ(url) | {"RAGBED_CACHE_DIR": str(folder / "cache")}
        start, quiet = time.monotonic(), subprocess.DEVNULL
        process = subprocess.Popen([sys.executable, *words], env=environ, stdout=quiet, stderr=quiet)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{words[:3]} ended with {process.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
