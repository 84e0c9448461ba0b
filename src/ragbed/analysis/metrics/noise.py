"""Noise robustness: accuracy by noise ratio, distractor type and document position."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import ONE_SUPPORTING, Cell, CellBuilder
from ragbed.analysis.metrics.curve import measure_curve
from ragbed.analysis.statistics.paired import cochran_q
from ragbed.analysis.trials.columns import Ints, Mask


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the noise testbed."""
    trials = builder.trials
    fixed = trials.of("noise", "fixed")
    # If there are no other mixes, those with one supporting document are the testbed's curve.
    only_fixed = [(ONE_SUPPORTING, fixed)] if fixed.any() and not trials.of("noise").any() else []
    for k, mask in [*trials.split(trials.of("noise"), "k"), *only_fixed]:
        yield from measure_curve(builder, mask, k)
        for metric, name in (("false_refusal", "refused"), ("false_alarm", "flagged")):
            for ratio, point in trials.split(mask, "noise"):
                yield builder.at(noise=ratio, k=k).rate(metric, point, builder.score(name))
        yield from _delivered(builder, mask, k)
        yield from _gap(builder, mask, k)
    yield from _fixed(builder)


def _delivered(builder: CellBuilder, mask: Mask, k: int) -> Iterator[Cell]:
    """Yield accuracy by the actual noise ratio if it differs from the requested one (`code-*` profiles)."""
    trials = builder.trials
    known = mask & trials.asked & np.isfinite(trials.noise_real)
    if not np.allclose(trials.noise[known], trials.noise_real[known], atol=1e-3):
        for ratio, point in trials.split(known, "noise_real"):
            yield builder.at(noise=ratio, k=k).rate("accuracy_by_delivered_noise", point, builder.score("correct"))


def _gap(builder: CellBuilder, related: Mask, k: int) -> Iterator[Cell]:
    """Yield the difference in accuracy between related and random distractors at the same noise ratio."""
    trials, correct = builder.trials, builder.score("correct")
    for ratio, random in trials.split(trials.of("noise", "random") & (trials.k == k), "noise"):
        yield builder.at(noise=ratio, k=k, arm="random").rate("accuracy", random, correct)
        point = related & (trials.noise == ratio)
        if ratio > 0 and point.any():
            yield from builder.at(noise=ratio, k=k).difference("related_minus_random", random, point, correct)


def _fixed(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the effects of noise and of prompt length, each relative to a prompt with a single supporting document."""
    trials, correct = builder.trials, builder.score("correct")
    fixed, control = trials.of("noise", "fixed"), trials.of("noise", "control")
    alone = fixed & (trials.k == 1)
    for k, noisy in trials.split(fixed, "k"):
        long = control & (trials.k == k)
        at_fixed, at_control = builder.at(k=k, arm="fixed"), builder.at(k=k, arm="control")
        yield at_fixed.rate("accuracy", noisy, correct)
        if k > 1:
            yield from at_fixed.difference("noise_effect", alone, noisy, correct)
        if long.any():
            yield at_control.rate("accuracy", long, correct)
            yield from at_control.difference("length_effect", alone, long, correct)
            yield from at_fixed.difference("related_minus_length", long, noisy, correct)


def measure_positions(builder: CellBuilder) -> Iterator[Cell]:
    """Yield Cochran's Q, order robustness and accuracy by position for each ratio at which all positions were measured.

    The raw difference between the best and the worst position is mostly due to chance. Order robustness counts
    questions that get the same verdict at every position. A question counts once per seed, because each seed chooses
    different documents. Questions with only one position, as in an unfinished run, are omitted.
    """
    trials, correct = builder.trials, builder.score("correct")
    for k, mask in trials.split(trials.of("noise") & (trials.repeat == 0) & (trials.slot >= 0), "k"):
        for ratio, point in trials.split(mask, "noise"):
            here = point & (np.bincount(trials.layouts, weights=point)[trials.layouts] > 1)
            slots = [here & (trials.slot == slot) for slot in range(k)]
            verdicts = np.column_stack([trials.per_layout(slot, correct) for slot in slots])
            complete = np.asarray(np.isfinite(verdicts).all(axis=1))
            if k > 1 and complete.any():
                clusters = trials.clusters_of(trials.layouts, len(complete))[complete]
                yield from _position_cells(builder, slots, verdicts[complete] > 0.5, clusters, ratio)


def _position_cells(
    builder: CellBuilder, slots: list[Mask], verdicts: Mask, clusters: Ints, ratio: float
) -> Iterator[Cell]:
    k, everywhere = len(slots), np.logical_or.reduce(slots)
    for slot, mask in enumerate(slots):
        yield builder.at(noise=ratio, k=k, slot=slot).rate("accuracy_by_slot", mask, builder.score("correct"))
    here = builder.at(noise=ratio, k=k)
    robustness = here.share("order_robustness", (verdicts == verdicts[:, :1]).all(axis=1), clusters, everywhere)
    _, number, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    sums = np.column_stack([np.bincount(number, weights=column) for column in verdicts.T])
    yield here.number("position_p", cochran_q(sums / sizes[:, None]), everywhere, robustness.estimate.n)
    yield robustness
