"""Measure the time, memory and file size for exporting and importing a cassette with 100,000 trials.

python -m benches cassette
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ragbed.runs.store import RECORD, CallKey, open_store
from ragbed.schema import Completion
from tests.runs.harness import make_case

_FILLER = "A passage of some length, as documents are. " * 40


def make_run(folder: Path, count: int) -> None:
    """Write a run whose prompts have a realistic length."""
    folder.mkdir()
    with open_store(folder, create=True) as store:
        store.plan({"repeats": "1"}, (make_case(number, filler=f"{_FILLER}{number} ") for number in range(count)))
        with store.transaction() as connection:
            (model,) = store.add_models([("made/m", "1")])
            for number in range(count):
                completion = Completion(outcome="ok", reply=f"It is gold-{number}.", finish="stop", latency_s=0.4)
                connection.execute(
                    RECORD, store.row(CallKey(model, number + 1, 0), 1, f"{number:064}", completion, cached=False)
                )


def measure(*words: str) -> tuple[float, float]:
    """Return the seconds and peak megabytes of a command run in a separate process."""
    program = (
        "import resource, sys; from ragbed.cli import app; "
        "app(sys.argv[1:], standalone_mode=False); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program, *words], check=True, capture_output=True, text=True)
    return time.monotonic() - started, int(done.stdout.split()[-1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=100_000)
    count = parser.parse_args().trials
    print("| trials | command | seconds | peak memory | file |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for trials in (count // 10, count):
            run, cassette = Path(folder, f"run-{trials}"), Path(folder, f"{trials}.cassette")
            make_run(run, trials)
            written = measure("export", str(run), "--to", "cassette", "-o", str(cassette))
            read = measure("import", str(cassette), "--from", "cassette", "--out", str(Path(folder, f"again-{trials}")))
            sizes = (
                f"{cassette.stat().st_size / 1e6:.1f} MB for a run of {(run / 'run.sqlite').stat().st_size / 1e6:.0f}"
            )
            print(f"| {trials:,} | export | {written[0]:.1f} | {written[1]:.0f} MB | {sizes} MB |")
            print(f"| {trials:,} | import | {read[0]:.1f} | {read[1]:.0f} MB | |")
