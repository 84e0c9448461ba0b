"""Knowledge conflict: whether a model follows its closed-book answer (its prior) or the documents.

Prior bias and context bias follow ClashEval (Wu, Wu and Zou, 2024): the share of responses that follow the prior if
only the documents are right, and that follow the documents if only the prior is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.curve import of_shared_questions, within
from ragbed.analysis.metrics.trial_columns import Mask, TrialColumns
from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.trend import clustered_slope
from ragbed.testbeds.conflict import STRENGTHS

PRIORS = ("right", "wrong", "none")
_UNKNOWN = -1  # used instead of an index into PRIORS for questions without closed-book responses
# An undefined flip point is placed at this distance outside the range of ratios, so that resamples can be sorted.
_BEYOND = 1.0


def priors(trials: TrialColumns, track: str) -> NDArray[np.int64]:
    """Return each question's prior, i.e. the majority outcome of its closed-book responses, as an index into PRIORS.

    A prior is `none` if most responses refuse, or if there is no majority.
    """
    closed = trials.of("closed-book") & trials.responded(track)
    correct, refused = trials.score("correct", track), trials.score("refused", track)
    right = trials.per_item(closed, correct)
    wrong = trials.per_item(closed, (1 - correct) * (1 - refused))
    found = np.select([np.isnan(right), right > 0.5, wrong > 0.5], [_UNKNOWN, 0, 1], 2)
    return np.asarray(found, np.int64)


def same_priors(groups: Sequence[TrialColumns], track: str) -> set[str]:
    """Return the questions for which all models have the same prior."""
    known = [
        {(trials.items[item], prior) for item, prior in enumerate(priors(trials, track).tolist()) if prior != _UNKNOWN}
        for trials in groups
    ]
    return {item for item, _ in reduce(set.intersection, known)}


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the conflict testbed."""
    trials, track = builder.trials, builder.track
    for k, mask in trials.split(trials.of("conflict"), "k"):
        prior = priors(trials, track)[trials.item]
        by_prior = {name: mask & (prior == number) for number, name in enumerate(PRIORS)}
        here = builder.at(k=k)
        yield from _shares(here, mask)
        yield from _biases(here, by_prior)
        for ending, part in {"": mask, **{f"_prior_{name}": part for name, part in by_prior.items()}}.items():
            yield from _dose_response(builder, part, k, ending)


def _shares(builder: CellBuilder, mask: Mask) -> Iterator[Cell]:
    """Yield the share of questions with each prior."""
    trials = builder.trials
    of_items = priors(trials, builder.track)
    present = np.isin(np.arange(len(of_items)), trials.item[mask]) & (of_items != _UNKNOWN)
    clusters = trials.clusters_of(trials.item, len(trials.items))[present]
    for number, name in enumerate(PRIORS) if present.any() else ():
        yield builder.share(f"prior_{name}", of_items[present] == number, clusters, trials.of("closed-book"))


def _biases(builder: CellBuilder, by_prior: dict[str, Mask]) -> Iterator[Cell]:
    """Yield prior bias, context bias, and accuracy when only the prior or only the documents are right."""
    trials, correct = builder.trials, builder.score("correct")
    wrong = (1 - correct) * (1 - builder.score("refused")) * trials.responded(builder.track)
    only_prior = by_prior["right"] & (trials.correct == 0)
    only_documents = by_prior["wrong"] & (trials.correct == 1)
    if only_prior.any() and only_documents.any():
        parts = [(only_prior, correct), (only_documents, correct)]
        yield from builder.resampled(["conflict_accuracy"], parts, _balanced)
    if only_documents.any():
        yield builder.rate("prior_bias", only_documents, wrong)
    if only_prior.any() and trials.has("misled", builder.track):
        misled = builder.score("misled")
        yield builder.rate("context_bias", only_prior, misled)
        strength = trials.untracked("false_strength")
        for number, name in enumerate(STRENGTHS):
            if (only_prior & (strength == number)).any():
                yield builder.rate(f"context_bias_{name}", only_prior & (strength == number), misled)


def _balanced(totals: Floats) -> Floats:
    first, second, n_first, n_second = np.moveaxis(totals, -1, 0)
    return np.asarray(((first / n_first + second / n_second) / 2)[..., None])


def _dose_response(builder: CellBuilder, mask: Mask, k: int, ending: str) -> Iterator[Cell]:
    """Yield the accuracy at every share of true documents, the slope of the accuracy, and the flip point.

    Args:
        builder: The builder of the table.
        mask: The trials.
        k: Number of documents.
        ending: Suffix of the metric names, e.g. `_prior_right`.
    """
    trials, correct = builder.trials, builder.score("correct")
    points = dict(trials.split(mask, "correct"))
    for true, point in points.items():
        yield builder.at(correct=true, k=k).rate(f"accuracy{ending}", point, correct)
        if trials.has("misled", builder.track):
            yield builder.at(correct=true, k=k).rate(f"misled{ending}", point, builder.score("misled"))
    shared = of_shared_questions(trials, points, correct)
    if len(shared) > 1:
        scored = np.logical_or.reduce(list(shared.values())) & np.isfinite(correct)
        counts = trials.count[scored]
        trend = clustered_slope(trials.correct[scored], correct[scored], trials.cluster[scored], counts=counts)
        here = builder.at(k=k)
        metric, n = f"slope_by_true_share{ending}", trials.size(scored)
        yield here.cell(metric, here.fixed(trend.slope), n, mask, scored=scored)
        if trials.has("misled", builder.track):
            yield _flip_point(here, mask, shared, ending)


def _flip_point(builder: CellBuilder, mask: Mask, points: dict[float, Mask], ending: str) -> Cell:
    """Return the share of true documents above which the true answer is given more often than the false one."""
    ratios = np.array(list(points))
    lead = builder.score("correct") - builder.score("misled")

    def statistic(totals: Floats) -> Floats:
        sums, trials = np.split(totals, 2, axis=-1)
        return flip_point(ratios, sums / trials)[..., None]

    parts = [(point, lead) for point in points.values()]
    (cell,) = builder.resampled([f"flip_point{ending}"], parts, statistic, mask)
    return within(cell, ratios[0], ratios[-1])


def flip_point(ratios: Floats, lead: Floats) -> Floats:
    """Return the ratio, interpolated linearly, at which the true answer's lead over the false one first reaches 0.

    The value is outside the ratios if the lead never reaches 0, or is already at least 0 at the first ratio.
    """
    before, after = lead[..., :-1], lead[..., 1:]
    crossed = (before < 0) & (after >= 0)
    share = np.divide(-before, after - before, out=np.zeros_like(before), where=after > before)
    where = ratios[:-1] + share * np.diff(ratios)
    first = np.take_along_axis(where, crossed.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    outside = np.where(lead[..., 0] >= 0, ratios[0] - _BEYOND, ratios[-1] + _BEYOND)
    found = np.where((lead[..., 0] < 0) & crossed.any(axis=-1), first, outside)
    return np.where(np.isfinite(lead).all(axis=-1), found, np.nan)
