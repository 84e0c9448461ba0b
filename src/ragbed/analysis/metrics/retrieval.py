"""Metrics for end-to-end RAG: retrieval quality, accuracy, and the accuracy loss relative to provided documents.

The comparison uses the run's own cases without noise: `noise` and `integration` at 0, and `counterfactual` at 0 with
only true documents. The difference is paired by question.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.trials.columns import Mask
from ragbed.scoring.retrieval import RANK_SCORES

_SHARES = ("retrieval_recall", "retrieved_distracts", "retrieved_contradicts", "retrieved_unknown", "cited_supports")
_STEPS = 5  # number of steps between the noise ratios 0 and 1, as in the paper


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the two end-to-end testbeds."""
    trials = builder.trials
    for k, mask in trials.split(trials.of("own-retrieval") | trials.of("own-rejection"), "k"):
        here = builder.at(k=k)
        own, without = (mask & trials.of(name) for name in ("own-retrieval", "own-rejection"))
        if own.any():
            yield from _retrieved(here, own)
            yield here.rate("accuracy", own, here.score("correct"))
            yield from _by_noise(builder, own, k)
            yield from _against_given(here, own, k)
        if without.any():
            yield here.rate("refusal_withheld", without, here.score("refused"))


def _retrieved(builder: CellBuilder, own: Mask) -> Iterator[Cell]:
    """Yield retrieval metrics for the responses that report their retrieved documents."""
    yield builder.rate("retrieval_told", own, builder.trials.additional("retrieval_told"))
    for name in (*_SHARES, *RANK_SCORES):
        values = builder.trials.additional(name)
        if np.isfinite(values[own]).any():
            yield builder.rate("mrr" if name == "reciprocal_rank" else name, own, values)


def _by_noise(builder: CellBuilder, own: Mask, k: int) -> Iterator[Cell]:
    """Yield accuracy by the share of retrieved documents that do not support the answer."""
    steps = np.round((1 - builder.trials.additional("retrieved_supports")) * _STEPS) / _STEPS
    for ratio in np.unique(steps[own & np.isfinite(steps)]).tolist():
        here = builder.at(noise=ratio, k=k)
        yield here.rate("accuracy_by_retrieved_noise", own & (steps == ratio), builder.score("correct"))


def _against_given(builder: CellBuilder, own: Mask, k: int) -> Iterator[Cell]:
    trials, correct = builder.trials, builder.score("correct")
    clean = (trials.k == k) & (trials.noise == 0)
    true_only = trials.of("counterfactual") & (trials.correct == 1)
    oracle = clean & (trials.of("noise") | trials.of("integration") | true_only)
    both = np.isfinite(trials.per_item(own, correct)) & np.isfinite(trials.per_item(oracle, correct))
    own, oracle = own & both[trials.item], oracle & both[trials.item]
    if oracle.any():
        yield builder.rate("accuracy_given", oracle, correct)
        yield from builder.difference("retrieval_gap", oracle, own, correct)
