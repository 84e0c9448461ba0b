"""Measure the time and memory to compute all statistics for a leaderboard of 1,000,000 scored trials.

There are fifty models and three tracks. Accuracy, failures and knowledge differ by model and question. The exit code is
1 if it takes more than 120 s.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics import measure
from ragbed.analysis.metrics.trial import Scored

MODELS, ITEMS, LIMIT_S = 50, 1_000, 120
CONDITIONS = [
    *[("base", "noise", "related", ratio, 0.0) for ratio in (0.0, 0.2, 0.4, 0.6, 0.8)],
    *[("base", "noise", "random", ratio, 0.0) for ratio in (0.4, 0.8)],
    ("base", "rejection", "related", 1.0, 0.0),
    ("base", "closed-book", "related", None, 0.0),
    *[("int", "integration", "related", ratio, 0.0) for ratio in (0.0, 0.2, 0.4)],
    ("int", "closed-book", "related", None, 0.0),
    *[("fact", "counterfactual", "related", 0.0, share) for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)],
    ("fact", "closed-book", "related", None, 0.0),
]


def trials() -> Iterator[Scored]:
    """Yield one million trials."""
    rng = np.random.default_rng(0)
    for model in range(MODELS):
        skill = 0.5 + 0.4 * model / MODELS
        for data, testbed, arm, noise, correct in CONDITIONS:
            draws = rng.random((ITEMS, 6)).tolist()
            for item, (right, declines, flags, misled, part, fails) in enumerate(draws):
                is_right = right < skill - 0.3 * (noise or 0)
                scores = {
                    "correct": is_right,
                    "refused": declines < 0.1 + 0.5 * (noise == 1),
                    "flagged": flags < 0.1,
                    "misled": misled < 0.3,
                    "partial": 1.0 if is_right else 0.5 * (part < 0.5),
                    "aligned": 1.0 if is_right else 0.0,
                }
                tracks = {f"{track}.{name}": scores[name] for track in ("code", "paper") for name in list(scores)[:3]}
                yield Scored(
                    model=f"model-{model}",
                    data=data,
                    item=str(item),
                    lang="en",
                    testbed=testbed,
                    profile="robust",
                    noise=noise,
                    noise_real=noise,
                    correct=correct,
                    k=0 if noise is None else 5,
                    arm=arm,
                    slots=() if noise is None else (item % 5,),
                    outcome="error" if fails < 0.01 else "ok",
                    scores=None if fails < 0.01 else scores | tracks,
                )


def main() -> None:
    """Run the measurement; exit with code 1 if it takes too long."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    # Use processor time, excluding the generation of trials, so that a busy machine does not change the result.
    start = time.process_time()
    count = sum(1 for _ in trials())
    drawn = time.process_time() - start
    began, start = time.perf_counter(), time.process_time()
    cells = sum(1 for _ in measure(trials()))
    taken, passed = time.process_time() - start - drawn, time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{count:,} trials of {MODELS} models: {cells:,} cells in {taken:.1f} s of processor time")
    print(f"({passed:.1f} s of wall time including the generation of trials, {memory:,.0f} MB peak memory)")
    sys.exit(taken > LIMIT_S)
