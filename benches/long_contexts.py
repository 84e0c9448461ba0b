"""Measure the planning of long contexts, and the overhead per call by the length of the prompt.

    python -m benches long_contexts [--items N] [--data FOLDER]

The first part plans and stores one case of 100 documents per item, with similar and with random distractors, each in a
separate process. The second part runs 500 calls each with 5, 20 and 100 documents against a mock server without
latency. The overhead is the CPU time per call, planning and scoring included, minus that of a run with a single call;
the lower of two measurements counts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import NamedTuple

import ragbed
from benches import check_figure
from benches.run import _environ
from tests.servers.mock_model import Behaviour, mock_model

DOCS, CALLS, COPIES, TRIES = 100, 500, 10, 2
LENGTHS = (5, 20, 100)
MAX_S, MAX_MB = 5, 200
_PLAN = """
import sys, pathlib, ragbed
from ragbed.runs.store import open_store
spec = ragbed.RunSpec(model="scripted/oracle", data=sys.argv[1], testbeds="length", num_docs=int(sys.argv[3]),
                      distractors=sys.argv[4])
job = ragbed.plan_run(spec)
folder = pathlib.Path(sys.argv[2])
folder.mkdir()
open_store(folder, create=True).plan(job.settings, job.cases())
"""
_RUN = """
import sys, ragbed
run = ragbed.run("openai-api/bench/m", sys.argv[1], testbeds="length", num_docs=int(sys.argv[3]),
                 limit=int(sys.argv[4]), out=sys.argv[2], no_cache=True, max_connections=8, progress=False)
assert run.outcomes == {"ok": int(sys.argv[4])}, run.outcomes
"""


class Spent(NamedTuple):
    """The CPU seconds and the peak memory of a process."""

    cpu_s: float
    mb: float


def main() -> None:
    """Print all figures; exit with code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1_000, help="number of items, and of cases to plan")
    parser.add_argument("--data", type=Path, help="folder for the dataset, which is kept and reused")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = asked.data or Path(folder) / "data"
        file, work = _write_data(data, asked.items), Path(folder)
        passed = [_check_planning(file, work, asked.items, arm) for arm in ("related", "random")]
        passed += _check_overhead(file, work)
    sys.exit(not all(passed))


def _write_data(folder: Path, items: int) -> Path:
    """Write items with 100 documents, of which one contains the answer.

    The documents of every COPIES items are the same, because generating them takes longer than planning the cases.
    """
    ragbed.synthesize(
        folder, items=items // COPIES, integration=0, counterfactual=0, lang="en", num_docs=DOCS, supporting=1
    )
    lines = (folder / "en_base.jsonl").read_text("utf-8").splitlines()
    file = folder / "items.jsonl"
    with file.open("w", encoding="utf-8") as written:  # line by line: a child's peak memory includes that of its parent
        for copy in range(COPIES):
            for item in map(json.loads, lines):
                item |= {"id": f"{item['id']}-{copy}", "question": f"{item['question']} ({copy})", "twin": None}
                written.write(json.dumps(item) + "\n")
    return file


def _check_planning(file: Path, work: Path, items: int, arm: str) -> bool:
    spent = _measure([_PLAN, str(file), str(work / arm), str(DOCS), arm], dict(os.environ))
    title = f"planning {items:,} cases of {DOCS} documents, {arm} distractors"
    in_time = check_figure(f"{title}: CPU time", spent.cpu_s, MAX_S, "s")
    return check_figure(f"{title}: peak memory", spent.mb, MAX_MB, "MB") and in_time


def _check_overhead(file: Path, work: Path) -> list[bool]:
    """Check that the overhead per call grows no faster than the bytes of the prompt."""
    overhead: dict[int, float] = {}
    for docs in LENGTHS:
        cpu = {1: math.inf, 1 + CALLS: math.inf}
        for number, calls in product(range(TRIES), cpu):
            with mock_model(Behaviour(latency_s=0.0)) as url:
                words = [_RUN, str(file), str(work / f"{docs}-{calls}-{number}"), str(docs), str(calls)]
                cpu[calls] = min(cpu[calls], _measure(words, _environ(url)).cpu_s)
        overhead[docs] = (cpu[1 + CALLS] - cpu[1]) / CALLS
    spec = ragbed.RunSpec(model="scripted/oracle", data=str(file), testbeds="length", num_docs=LENGTHS, limit=CALLS)
    sizes = dict.fromkeys(LENGTHS, 0)
    for case in ragbed.plan_run(spec).cases():
        sizes[case.k] += sum(len(message.content.encode()) for message in case.messages)
    shortest = LENGTHS[0]
    passed = []
    for docs in LENGTHS:
        print(f"{docs} documents: {sizes[docs] / CALLS:,.0f} bytes, {1000 * overhead[docs]:.2f} ms CPU per call")
        if docs > shortest:
            ratio, growth = overhead[docs] / overhead[shortest], sizes[docs] / sizes[shortest]
            passed.append(check_figure(f"overhead with {docs} documents, relative to {shortest}", ratio, growth, "×"))
    return passed


def _measure(words: list[str], environ: dict[str, str]) -> Spent:
    process = subprocess.Popen([sys.executable, "-c", *words], env=environ, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"a process ended with {process.returncode}")
    return Spent(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    main()
