"""Measure how often the true share of correct items lies within the interval that a build states.

    python -m benches build_promise [--builds N]

For each build, the labelled items (builder/calibration.jsonl) are split at random: one half is the calibration set, and
the build's items are drawn from the other half. Items by the rules and items by models with the sentence prompt are
measured separately. Exit code 1 if the share lies within its interval in less than 90 % of the builds, with or without
a requested precision.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from itertools import product

from ragbed.builder.precision import MIN_LABELS, CalibrationLabel, make_promise, read_labels
from ragbed.builder.rules import GENERATOR
from ragbed.builder.sentence_questions import TASK

TARGET = 0.9
ITEMS = 60  # number of items in each build


def is_within(labels: Sequence[CalibrationLabel], wanted: float | None, dice: random.Random) -> bool | None:
    """Return whether the share in a resampled build lies within its interval, or None if no interval is stated."""
    shuffled = dice.sample(list(labels), len(labels))
    half = max(MIN_LABELS, len(labels) // 2)
    known, pool = shuffled[:half], shuffled[half:]
    items = dice.choices(pool, k=ITEMS) if len(pool) < ITEMS else dice.sample(pool, ITEMS)
    promise = make_promise(known, [item.score for item in items], wanted)
    if promise.low is None or promise.high is None:
        return None
    kept = [item for item in items if item.score >= promise.threshold]
    share = sum(item.right for item in kept) / len(kept)
    return promise.low <= share <= promise.high


def main() -> None:
    """Measure; exit with code 1 if the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builds", type=int, default=30)
    builds, is_met = parser.parse_args().builds, True
    print("| Items | Labels | Requested | Builds | No promise | Within the interval | Share |")
    print("|---|---|---|---|---|---|---|")
    for kind, wanted in product((GENERATOR, TASK), (None, 0.9)):
        labels = read_labels(kind, kind)
        found = [is_within(labels, wanted, random.Random(seed)) for seed in range(builds)]
        stated = [one for one in found if one is not None]
        share = sum(stated) / len(stated) if stated else 0.0
        is_met &= share >= TARGET
        counts = f"{builds} | {builds - len(stated)} | {sum(stated)} | {share:.0%}"
        print(f"| {kind} | {len(labels)} | {wanted or '–'} | {counts} |")
    sys.exit(not is_met)


if __name__ == "__main__":
    main()
