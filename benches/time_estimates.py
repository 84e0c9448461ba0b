"""Measure how accurately the remaining time of ten local runs is estimated after 5% of their cases.

python -m benches time_estimates [--items N] [--model MODEL]

The runs differ in data, testbeds, number of documents and length of the responses. The error of an estimate is the
larger of estimate / actual and actual / estimate.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from ragbed.data.catalog import open_data
from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Sampling
from ragbed.runs.call_loop import CallProgress
from ragbed.runs.execution import Job, run
from ragbed.testbeds import DEFAULT_TESTBEDS, TESTBEDS
from ragbed.testbeds.settings import Settings

TARGET = 1.5
SHARE = 0.05
MIN_FINISHED = 3  # number of cases after which a run prints its expected duration
HALF = (Fraction(0), Fraction(1, 2))
NOISE = (Fraction(0), Fraction(2, 5), Fraction(4, 5))


@dataclass(frozen=True)
class Plan:
    """The settings of one run."""

    kinds: tuple[str, ...]
    testbeds: tuple[str, ...]
    docs: int = 2
    max_tokens: int = 64
    noise: tuple[Fraction, ...] = HALF


PLANS = (
    Plan(("base",), ("noise", "rejection", "closed-book")),
    Plan(("base",), ("noise", "rejection", "closed-book"), docs=5, noise=NOISE),
    Plan(("base",), ("noise", "closed-book"), max_tokens=128),
    Plan(("base",), ("noise",), docs=5, noise=NOISE),
    Plan(("fact",), ("counterfactual", "closed-book")),
    Plan(("fact",), ("counterfactual", "closed-book"), docs=5),
    Plan(("int",), ("integration", "closed-book"), noise=(Fraction(0),)),
    Plan(("base", "fact"), ("noise", "counterfactual", "closed-book")),
    Plan(("base", "int"), ("rejection", "integration"), noise=(Fraction(0),)),
    Plan(("base", "int", "fact"), DEFAULT_TESTBEDS, max_tokens=32, noise=(Fraction(0),)),
)


@dataclass
class Watch:
    """A watch that records the estimate after 5% of the cases."""

    cases: int = 0
    estimate_s: float = 0.0
    noted_at: float = field(default=0.0)

    def __call__(self, _: str, progress: CallProgress) -> None:
        self.cases = progress.total
        if not self.noted_at and progress.finished >= max(MIN_FINISHED, SHARE * progress.total):
            self.estimate_s, self.noted_at = progress.seconds_left or 0.0, time.monotonic()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10, help="questions of each dataset")
    parser.add_argument("--model", default="bundled/smollm2")
    options = parser.parse_args()
    errors = []
    for number, plan in enumerate(PLANS, 1):
        watch, actual_s = _measure(plan, options.model, options.items)
        errors.append(max(watch.estimate_s / actual_s, actual_s / watch.estimate_s))
        print(
            f"{number:2}  {'+'.join(plan.kinds):14} {plan.docs} documents  {watch.cases:3} cases  "
            f"estimated {watch.estimate_s:5.0f} s  actual {actual_s:5.0f} s  error {errors[-1]:.2f} x",
            flush=True,
        )
    print(f"median error {median(errors):.2f} x (target: at most {TARGET} x), largest {max(errors):.2f} x")
    sys.exit(median(errors) > TARGET)


def _measure(plan: Plan, name: str, items: int) -> tuple[Watch, float]:
    datasets = open_data([f"ragbed-mini-en_{kind}" for kind in plan.kinds])
    settings = {bed: Settings(limit=items, num_docs=(plan.docs,), noise=plan.noise) for bed in plan.testbeds}
    settings |= {
        bed: Settings(limit=items, num_docs=(plan.docs,)) for bed in {"rejection", "counterfactual"} & settings.keys()
    }
    model = open_model(name, lambda rest: ModelConfig(rest, os.environ, Sampling(max_tokens=plan.max_tokens)))
    watch = Watch()
    with TemporaryDirectory() as folder:
        cases = (
            case for data in datasets for bed in plan.testbeds for case in TESTBEDS[bed].cases(data, settings[bed])
        )
        run(Job(folder=Path(folder), settings={}, cases=lambda: cases, models=[model]), watch)
    return watch, time.monotonic() - watch.noted_at
