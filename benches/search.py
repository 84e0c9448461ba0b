"""Measure the time and memory to index and search many passages, as the `search` testbed does.

    python -m benches search [--passages N] [--queries N]

The index is built in a process of its own, so that its peak memory can be measured. CPU time is reported beside the
elapsed time, because other work on the machine affects only the latter. The exit code is 1 if an index takes more than
10 minutes or 1 GB, or the median query takes more than 20 ms.
"""

# ruff: noqa: PLC0415 - the process that measures the index imports only what it needs

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import sys
import time
from multiprocessing.connection import Connection

from benches import check_figure

_TARGETS = {"s": 600, "MB": 1_024, "ms": 20}
_TITLES = {"s": "time to index", "MB": "peak memory", "ms": "median query"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches search", description=__doc__.partition("\n")[0])
    parser.add_argument("--passages", type=int, default=1_000_000, help="Size of the corpus. [default: 1000000]")
    parser.add_argument("--queries", type=int, default=200, help="Number of queries. [default: 200]")
    chosen = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_measure_index, args=(chosen.passages, chosen.queries, theirs)
    )
    process.start()
    theirs.close()  # so that `recv` ends if the process dies
    figures = dict(ours.recv())
    process.join()
    passed = []
    for unit, maximum in _TARGETS.items():
        note = f" (CPU {figures[f'CPU {unit}']:.4g} {unit})" if f"CPU {unit}" in figures else ""
        title = f"{chosen.passages:,} passages, {_TITLES[unit]}{note}"
        passed.append(check_figure(title, figures[unit], maximum, unit))
    sys.exit(not all(passed))


def _measure_index(passages: int, queries: int, answer: Connection) -> None:
    from ragbed.api.planning import generated_sentences
    from ragbed.retrieval.passage_index import LexicalIndex
    from ragbed.synth import SynthSpec, make_items
    from ragbed.testbeds.search.corpora import make_filler

    bank = generated_sentences("en")
    started, cpu = time.perf_counter(), time.process_time()
    index = LexicalIndex(make_filler(bank, number) for number in range(passages))
    elapsed, cpu = time.perf_counter() - started, time.process_time() - cpu
    questions = [item.question for item in make_items(SynthSpec(seed=1, lang="en"), "base", 0, queries)]
    times, cpus = [], []
    for question in questions:
        begun, used = time.perf_counter(), time.process_time()
        index.search(question, 5)
        times.append(1_000 * (time.perf_counter() - begun))
        cpus.append(1_000 * (time.process_time() - used))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    query, query_cpu = statistics.median(times), statistics.median(cpus)
    answer.send([("s", elapsed), ("CPU s", cpu), ("MB", memory), ("ms", query), ("CPU ms", query_cpu)])
