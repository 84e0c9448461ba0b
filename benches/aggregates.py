"""Measure the time and memory of reports on ten million trials from partial sums.

    python -m benches aggregates [--trials 10000000] [--shards 10] [--whole 1000000]

The trials are synthetic: every question has seven conditions and is equally difficult in all of them. They are summed
in shards, as `ragbed score --aggregates` does. The sums are written, read, added and reported. For comparison, some of
the trials are reported directly from memory, which must give the same cells.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ragbed.analysis.metrics import measure
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.metrics.partial_sums import PartialSumBuilder
from ragbed.analysis.metrics.trial import Scored, ScoreValue
from ragbed.analysis.metrics.trial_columns import TRACKS
from ragbed.analysis.partial_sum_files import Summed, Sums, read_sums, write_sums

NOISE = (0.0, 0.2, 0.4, 0.6, 0.8)
CONDITIONS = [*(("noise", noise, 5) for noise in NOISE), ("rejection", 1.0, 5), ("closed-book", None, 0)]


def generate(first: int, end: int) -> Iterator[Scored]:
    """Yield the trials of some questions."""
    for number in range(first, end):
        draw = random.Random(number)
        ease = draw.random()
        for testbed, noise, k in CONDITIONS:
            chance = draw.random()
            outcome = "error" if chance < 0.01 else "ok"
            correct = draw.random() < ease * (1 - 0.4 * (noise or 0))
            refused = not correct and draw.random() < 0.3
            scores = _scores(correct, refused, draw.random() < 0.02) if outcome == "ok" else None
            yield Scored(
                model="made-up", data="made", item=str(number), lang="en", testbed=testbed, profile="robust",
                noise=noise, noise_real=noise, k=k, slots=(draw.randrange(5),), scores=scores,
                outcome="error" if outcome == "error" else "ok",
            )  # fmt: skip


def _scores(correct: bool, refused: bool, flagged: bool) -> dict[str, ScoreValue]:
    own: dict[str, ScoreValue] = {"correct": correct, "refused": refused, "flagged": flagged, "partial": float(correct)}
    return own | {f"{track}.{name}": own[name] for track in ("code", "paper") for name in tuple(own)[:3]}


def sum_up(questions: int, shards: int, folder: Path) -> list[Path]:
    """Write the sums for all shards."""
    files, size = [], math.ceil(questions / shards)
    for shard in range(shards):
        start, cpu = time.monotonic(), time.process_time()
        trials = 0
        with PartialSumBuilder() as builder:
            for trial in generate(shard * size, min(questions, (shard + 1) * size)):
                builder.add(trial)
                trials += 1
            run = Summed("made", "made-up", f"{shard + 1}/{shards}", (), ("robust",), trials)
            sums = Sums([run], builder.finish())
        files.append(folder / f"{shard}.jsonl")
        write_sums(sums, files[-1])
        seconds, used = time.monotonic() - start, time.process_time() - cpu
        size_mb, million = files[-1].stat().st_size / 1e6, 1e6 * used / trials
        held = f"{trials:,} trials as {sums.questions:,} questions, {size_mb:.1f} MB"
        cost = f"{seconds:.0f} s, {million:.0f} s of CPU per million (with generation), {most_mb():.0f} MB"
        print(f"shard {shard + 1:2}: {held}, {cost}", flush=True)
    return files


def report(files: list[Path]) -> list[Cell]:
    start, cpu = time.monotonic(), time.process_time()
    sums = read_sums(files)
    cells = list(sums.cells(TRACKS))
    seconds, used = time.monotonic() - start, time.process_time() - cpu
    summary = f"{sums.trials:,} trials, {sums.questions:,} different questions, {len(cells)} cells"
    print(f"report: {summary}, {seconds:.1f} s ({used:.1f} s of CPU), {most_mb():.0f} MB peak memory", flush=True)
    return cells


def most_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def differ(one: Cell, other: Cell) -> bool:
    pairs = [(getattr(one.estimate, name), getattr(other.estimate, name)) for name in one.estimate.__struct_fields__]
    return (one.table, one.place) != (other.table, other.place) or any(
        a != b and not (isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, abs_tol=1e-9))
        for a, b in pairs
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10_000_000)
    parser.add_argument("--shards", type=int, default=10)
    parser.add_argument("--whole", type=int, default=1_000_000)
    chosen = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="bench-aggregates-") as name:
        folder = Path(name)
        report(sum_up(chosen.trials // len(CONDITIONS), chosen.shards, folder))
        questions = chosen.whole // len(CONDITIONS)
        summed = report(sum_up(questions, 1, folder))
    start, cpu = time.monotonic(), time.process_time()
    held = list(measure(generate(0, questions)))
    seconds, used = time.monotonic() - start, time.process_time() - cpu
    summary = f"{questions * len(CONDITIONS):,} trials, {seconds:.0f} s ({used:.0f} s of CPU)"
    print(f"from memory: {summary}, {most_mb():.0f} MB peak memory")
    differing = sum(differ(*pair) for pair in zip(summed, held, strict=True))
    print(f"different cells: {differing} of {len(held)}")
    return 1 if differing else 0
