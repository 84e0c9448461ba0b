"""The four abilities of the paper: noise robustness, negative rejection, integration and counterfactual robustness.

A curve is a score as a function of the noise ratio. The lowest ratio is the first one with results, because all cases
at a ratio can be infeasible. The area uses only the questions with results at every ratio. See
docs/explanation/statistics.md.

A model that always refuses has perfect refusal recall, so recall must be read together with the false refusals. They
are paired: the same questions, with and without the answer in the documents.

A response to false documents is exactly one of correct, misled (asserting the false answer), both, refused or other.
Independently, it may or may not flag an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from ragbed.analysis.metrics.cells import ONE_SUPPORTING, Cell, CellBuilder, interval_of, weigh
from ragbed.analysis.statistics.paired import cochran_q
from ragbed.analysis.statistics.rates import Interval
from ragbed.analysis.statistics.testing import Floats
from ragbed.analysis.trials.columns import Ints, Mask, TrialColumns

_Point = TypeVar("_Point", int, float)


def measure_curve(builder: CellBuilder, mask: Mask, k: int) -> Iterator[Cell]:
    """Yield all cells of one curve.

    Args:
        builder: The builder of the table.
        mask: The trials of one testbed, distractor condition and number of documents.
        k: Number of documents.
    """
    correct = builder.score("correct")
    points = dict(builder.trials.split(mask, "noise"))
    for ratio, point in points.items():
        yield builder.at(noise=ratio, k=k).rate("accuracy", point, correct)
    scored = {ratio: point for ratio, point in points.items() if np.isfinite(correct[point]).any()}
    for ratio, point in scored.items():
        closed = builder.trials.of("closed-book")
        yield from builder.at(noise=ratio, k=k).difference("gain_by_documents", closed, point, correct)
    if len(scored) > 1:
        # The mean height of the curve is its area by the trapezoidal rule, divided by the range of ratios.
        shared = of_shared_questions(builder.trials, scored, correct)
        steps = np.diff(list(shared))
        shares = (np.append(steps, 0) + np.insert(steps, 0, 0)) / 2
        values = np.where(np.logical_or.reduce(list(shared.values())), correct, np.nan)
        weights = weigh(zip(shared.values(), shares.tolist(), strict=True), values)
        yield builder.at(k=k).rate("auc", mask, values, weights)
        (_, lowest), *others = scored.items()
        for ratio, point in others:
            yield from builder.at(noise=ratio, k=k).difference("change", lowest, point, correct)


def of_shared_questions(trials: TrialColumns, points: dict[_Point, Mask], values: Floats) -> dict[_Point, Mask]:
    """Return the trials of questions with a score at every point of a curve. Points without any scores are dropped.

    Questions with too few documents for some points may be harder or easier than the others, so a curve over different
    questions would show a trend even if no response depends on the condition.
    """
    found = {at: np.isfinite(trials.per_item(point, values)) for at, point in points.items()}
    scored = [at for at in points if found[at].any()]
    shared = np.logical_and.reduce([found[at] for at in scored])[trials.item] if scored else np.zeros_like(trials.asked)
    return {at: points[at] & shared for at in scored}


def measure_noise(builder: CellBuilder) -> Iterator[Cell]:
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
        for ratio, random in trials.split(trials.of("noise", "random") & (trials.k == k), "noise"):
            yield builder.at(noise=ratio, k=k, arm="random").rate("accuracy", random, builder.score("correct"))
    yield from _fixed(builder)


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


def measure_integration(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the integration testbed."""
    trials = builder.trials
    for k, mask in trials.split(trials.of("integration"), "k"):
        yield from measure_curve(builder, mask, k)
        for ratio, point in trials.split(mask, "noise"):
            here = builder.at(noise=ratio, k=k)
            yield here.rate("false_refusal", point, here.score("refused"))
            yield from here.rates(point)


def measure_rejection(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the rejection testbed and of the paired comparison."""
    trials, refused = builder.trials, builder.score("refused")
    for k, without in trials.split(trials.of("rejection"), "k"):
        yield from builder.at(noise=1.0, k=k).rates(without)
        noise = trials.of("noise") & (trials.k == k)
        scored = noise & np.isfinite(refused)
        if scored.any():
            yield from _paired(builder.at(k=k), noise & (trials.noise == trials.noise[scored].min()), without)


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


def measure_counterfactual(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the counterfactual testbed for each share of true documents and noise ratio."""
    trials = builder.trials
    for k, mask in trials.split(trials.of("counterfactual"), "k"):
        for true, same_share in trials.split(mask, "correct"):
            for ratio, point in trials.split(same_share, "noise"):
                here = builder.at(correct=true, noise=ratio, k=k)
                has_false = true + ratio < 1 - 1e-9
                if has_false or true:
                    yield here.rate("accuracy", point, here.score("correct"))
                if has_false:
                    yield from here.rates(point)
                    if trials.has("misled", here.scorer):
                        for name, values in outcomes(trials, here.scorer).items():
                            yield here.rate(name, point, values)
                elif true:
                    yield here.rate("false_alarm", point, here.score("flagged"))


def outcomes(trials: TrialColumns, scorer: str) -> dict[str, Floats]:
    """Return ten columns: {correct, misled, both, refused, other} × {flagged, unflagged}, with one 1 per response."""
    correct, partial, misled, refused, flagged = (
        trials.score(name, scorer) == 1 for name in ("correct", "partial", "misled", "refused", "flagged")
    )
    kinds = {
        "correct": correct & ~misled,
        "misled": misled & ~partial,
        "both": misled & partial,  # not correct, although the true answer is also stated
        "refused": refused & ~correct & ~misled,
        "other": ~correct & ~misled & ~refused,
    }
    known = np.isfinite(trials.score("misled", scorer)) & np.isfinite(trials.score("correct", scorer))
    responded = trials.responded(scorer)
    return {
        f"{kind}_{flag}": np.where(known, is_kind & is_flag & responded, np.nan)
        for kind, is_kind in kinds.items()
        for flag, is_flag in (("flagged", flagged), ("unflagged", ~flagged))
    }
