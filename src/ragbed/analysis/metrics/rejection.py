"""Negative rejection: paired refusal metrics for the same questions, with and without the answer in the documents.

A model that always refuses has perfect refusal recall, so recall must be read together with the false refusals.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder, interval_of
from ragbed.analysis.metrics.knowledge import gate_accuracy
from ragbed.analysis.statistics.rates import Interval
from ragbed.analysis.trials.columns import Mask


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the rejection testbed and of the paired comparison."""
    trials, refused = builder.trials, builder.score("refused")
    for k, without in trials.split(trials.of("rejection"), "k"):
        yield from _without_evidence(builder.at(noise=1.0, k=k), without)
        noise = trials.of("noise") & (trials.k == k)
        scored = noise & np.isfinite(refused)
        if scored.any():
            yield from _paired(builder.at(k=k), noise & (trials.noise == trials.noise[scored].min()), without)


def _without_evidence(builder: CellBuilder, mask: Mask) -> Iterator[Cell]:
    trials, correct, refused = builder.trials, builder.score("correct"), builder.score("refused")
    yield builder.rate("refusal_recall", mask, refused)
    if builder.scorer == "code":
        yield builder.rate("all_rate", mask, np.maximum(correct, refused))
    refusals = mask & (refused == 1)
    if builder.scorer == "robust" and refusals.any():
        # The share of refusals that contain the required sentence (Rej/Rej* in the paper).
        yield builder.rate("format_adherence", refusals, trials.score("refused", "paper"))
    right = correct * (1 - refused)
    yield builder.rate("correct_without_evidence", mask, right)
    wrong = (1 - correct) * (1 - refused) * trials.responded(builder.scorer)
    yield builder.rate("wrong_without_evidence", mask, wrong)
    accuracy = gate_accuracy(trials, builder.scorer)[trials.item]
    # Without evidence, a correct answer comes from memory if the model knows it, and otherwise from a leak in the
    # documents.
    if np.isfinite(accuracy[mask]).any():
        known = np.where(np.isfinite(accuracy), accuracy > 0.5, np.nan)
        yield builder.rate("correct_from_memory", mask, right * known)
        yield builder.rate("correct_by_leak", mask, right * (1 - known))


def _paired(builder: CellBuilder, answerable: Mask, without: Mask) -> Iterator[Cell]:
    trials, refused = builder.trials, builder.score("refused")
    both = np.isfinite(trials.per_item(answerable, refused)) & np.isfinite(trials.per_item(without, refused))
    answerable, without = answerable & both[trials.item], without & both[trials.item]
    if not answerable.any():
        return
    yield builder.rate("false_refusal", answerable, refused)
    union = answerable | without
    # F1 is a function of the share of cases that should be refused and are, among those that should be or are.
    common = builder.rate("refusal_f1", union, refused * without, np.where(without, 1.0, refused))
    value, low, high = (2 * bound / (1 + bound) for bound in interval_of(common.estimate))
    sums = common.sums
    if sums is not None:
        largest = 2.0 * np.bincount(trials.cluster[union]).max()  # the sizes depend on how often the model refuses
        sums = sums._replace(totals=2 * sums.totals, sizes=sums.sizes + sums.totals, largest=float(largest))
    yield builder.cell("refusal_f1", Interval(value, low, high), union, union & np.isfinite(refused), sums=sums)
    yield builder.mean_of_rates("balanced_accuracy", (without, refused), (answerable, 1 - refused))
