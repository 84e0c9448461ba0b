"""Measure the `search` testbed: the time to run scripted agents, and the time and memory to search many passages.

    python -m benches search [--passages N] [--dense N] [--queries N]

The index is built in a process of its own, so that its peak memory can be measured. CPU time is reported beside the
elapsed time, because other work on the machine affects only the latter.
"""

# ruff: noqa: PLC0415 - the process that measures the index imports only what it needs

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

from ragbed.testbeds.search.settings import IndexKind

_CONDITIONS, _ITEMS = 5, 60
_AGENTS = ("search-once", "search-never", "search-endless", "search-malformed", "search-oracle", "search-gullible")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches search", description=__doc__.partition("\n")[0])
    parser.add_argument("--passages", type=int, default=1_000_000, help="Size of the corpus. [default: 1000000]")
    parser.add_argument("--dense", type=int, default=10_000, help="Size of the dense corpus. [default: 10000]")
    parser.add_argument("--queries", type=int, default=200, help="Number of queries. [default: 200]")
    chosen = parser.parse_args()
    _measure_agents()
    for kind, passages in (("lexical", chosen.passages), ("dense", chosen.dense)):
        if passages:
            ours, theirs = multiprocessing.Pipe()
            process = multiprocessing.get_context("spawn").Process(
                target=_measure_index, args=(kind, passages, chosen.queries, theirs)
            )
            process.start()
            print(f"{kind}: {ours.recv()}", flush=True)
            process.join()


def _measure_agents() -> None:
    """Run every agent on 60 items under five conditions."""
    import ragbed

    with tempfile.TemporaryDirectory() as folder:
        for agent in _AGENTS:
            started, cpu = time.perf_counter(), time.process_time()
            run = ragbed.run(
                f"scripted/{agent}", "ragbed-mini-en_base", out=Path(folder) / agent, testbeds="search",
                search="sizes=1000+2000+5000", no_cache=True, progress=False,
            )  # fmt: skip
            assert sum(run.outcomes.values()) == _CONDITIONS * _ITEMS
            elapsed, cpu = time.perf_counter() - started, time.process_time() - cpu
            print(
                f"{agent:18} {_ITEMS} items x {_CONDITIONS} conditions: {elapsed:5.1f} s (CPU {cpu:.1f} s)", flush=True
            )


def _measure_index(kind: IndexKind, passages: int, queries: int, answer: Connection) -> None:
    from ragbed.api.searching import generated_sentences, index_maker
    from ragbed.synth import SynthSpec, make_items
    from ragbed.testbeds.search.corpora import make_filler

    bank = generated_sentences("en")
    started, cpu = time.perf_counter(), time.process_time()
    index = index_maker(kind)(make_filler(bank, number) for number in range(passages))
    elapsed, cpu = time.perf_counter() - started, time.process_time() - cpu
    questions = [item.question for item in make_items(SynthSpec(seed=1, lang="en"), "base", 0, queries)]
    times, cpus = [], []
    for question in questions:
        begun, used = time.perf_counter(), time.process_time()
        index.search(question, 5)
        times.append(1_000 * (time.perf_counter() - begun))
        cpus.append(1_000 * (time.process_time() - used))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answer.send(
        f"{passages:,} passages indexed in {elapsed:.0f} s (CPU {cpu:.0f} s), {memory:.0f} MB at most; query: median "
        f"{statistics.median(times):.1f} ms (CPU {statistics.median(cpus):.1f} ms)"
    )


if __name__ == "__main__":
    main()
