"""Measure how fast a million stored trials are scored by all scorers.

Writes a run of a million trials with responses of 200 characters in both languages (answers, wrong answers, refusals,
error flags), scores and tabulates it, and prints the time and the peak memory of all processes. Exit code 1 if scoring
takes more than 180 s on two cores or 400 MB. `--trials N` measures fewer trials without these limits.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import ragbed
from ragbed.data import Dataset
from ragbed.runs.store import RECORD, CallRequest, RunStore, open_store
from ragbed.schema import Case, Completion
from ragbed.testbeds import DEFAULT_TESTBEDS, TESTBEDS
from ragbed.testbeds.prompts import FLAG, REFUSAL
from ragbed.testbeds.settings import Settings

SECONDS, MEGABYTES, CORES = 180, 400, 2
LENGTH = 200
BUNDLED = Path(ragbed.__file__).parent / "data" / "bundled"


def main() -> None:
    """Run the measurements; exit with code 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1_000_000)
    trials = parser.parse_args().trials
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        write_run(run, trials)
        started = time.perf_counter()
        program = "import sys; from pathlib import Path; from ragbed.analysis.overview import tabulate_run"
        program += "; print(*tabulate_run(Path(sys.argv[1])), sep='\\n')"
        done = subprocess.run([sys.executable, "-c", program, str(run)], check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cores, cpu = os.cpu_count() or 1, used.ru_utime + used.ru_stime
    # This is an upper bound: all processes are assumed to be as large as the largest.
    megabytes = used.ru_maxrss / 1024 * (min(cores, CORES) + 1)
    print(done.stdout)
    print(f"{trials:,} trials of {LENGTH} characters, all scorers: {seconds:.1f} s on {cores} cores")
    print(f"({1e6 * cpu / trials:.0f} µs of CPU per trial), at most {megabytes:.0f} MB in all processes")
    print(f"load average at the end: {os.getloadavg()[0]:.1f}")
    sys.exit(trials >= 1_000_000 and not (seconds <= SECONDS and megabytes <= MEGABYTES))


def write_run(folder: Path, trials: int, models: int = 1) -> None:
    """Write a run on the bundled data, with as many repeats as necessary."""
    cases = list(_cases())
    settings = {"repeats": str(-(-trials // (len(cases) * models)))}
    random_ = random.Random(0)
    folder.mkdir()
    with open_store(folder, create=True) as store:
        store.plan(settings, cases)
        session, numbers = store.begin_session([(f"made/up-{number}", "") for number in range(models)])
        with store.transaction() as connection:
            for model in numbers:
                connection.executemany(RECORD, _rows(store, cases, (session, model, trials // models), random_))


def _rows(
    store: RunStore, cases: list[Case], plan: tuple[int, int, int], random_: random.Random
) -> Iterator[tuple[object, ...]]:
    session, model, trials = plan
    for number in range(trials):
        at, repeat = number % len(cases), number // len(cases)
        reply = _reply(cases[at], random_)
        request = CallRequest(model, at + 1, repeat, cases[at])
        yield store.row(request, session, f"{number:x}", Completion(outcome="ok", reply=reply, finish="stop"))


def _reply(case: Case, random_: random.Random) -> str:
    """Return a response of one of six kinds, padded with text from a document."""
    alias = ", ".join(aliases[-1] for aliases in case.answer)
    fake = case.fake[0][0] if case.fake else "Berlin"
    text = random_.choice([alias, alias, f"The answer is {fake}.", REFUSAL[case.lang], FLAG[case.lang] + alias])
    text += random_.choice([" ", f", not {fake}. " if case.lang == "en" else f"，而不是{fake}。", "\n"])
    # A complete document would be counted as copied.
    filler = case.documents[0].text[5:] if case.documents else case.question
    return (text + filler * 20)[:LENGTH]


def _cases() -> Iterator[Case]:
    for name in sorted(BUNDLED.glob("ragbed-mini-*.jsonl")):
        for testbed in (TESTBEDS[usual] for usual in DEFAULT_TESTBEDS):
            dataset = Dataset(name.stem, name)
            yield from (case for case in testbed.cases(dataset, Settings()) if case.feasible)
