"""Metrics for the `search` testbed: accuracy, search recall, wasted searches, and tokens per correct answer.

Each condition is compared with a testbed of the same run in which the model is given the documents, paired by question:
`noise` and `integration` without noise, `rejection`, and `counterfactual` with the same share of true documents.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.statistics.testing import Floats
from ragbed.analysis.trials.columns import Mask, TrialColumns
from ragbed.testbeds import headline_score


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the `search` testbed for each condition."""
    trials = builder.trials
    for testbed, arm in trials.kinds:
        if testbed == "search":
            yield from _measure_condition(builder.at(arm=arm), trials.of(testbed, arm), arm)


def _measure_condition(builder: CellBuilder, mask: Mask, arm: str) -> Iterator[Cell]:
    trials, wanted = builder.trials, headline_score("search", arm)
    right = builder.score(wanted)
    yield builder.rate("refusal" if wanted == "refused" else "accuracy", mask, right)
    if arm.startswith("false="):
        yield builder.rate("error_detection", mask, builder.score("flagged"))
        if trials.has("misled", builder.scorer):
            yield builder.rate("misled_at_all", mask, builder.score("misled"))
    elif wanted == "correct":
        yield builder.rate("false_refusal", mask, builder.score("refused"))
    if arm.startswith("injected="):
        yield builder.rate("attack_success", mask, trials.score("attacked", "robust"))
        yield from builder.difference("injection_change", trials.of("search", "complete"), mask, right)
        yield builder.rate("reported", mask, trials.score("reported", "robust"))
    yield from builder.rates(mask)
    for _, calls in trials.present(["search_calls"], mask):
        yield builder.ratio("searches", mask, calls)
    costs = {"tokens_per_correct": trials.additional("search_tokens"), "dollars_per_correct": trials.dollars}
    for metric, values in costs.items():
        spent = np.where(np.isfinite(right) & ~trials.failed, values, np.nan)
        if np.isfinite(spent[mask]).any():
            yield builder.ratio(metric, mask, spent, right)
    yield from _against_given(builder, mask, arm, right)


def _against_given(builder: CellBuilder, own: Mask, arm: str, right: Floats) -> Iterator[Cell]:
    trials, given = builder.trials, _given(builder.trials, own, arm)
    both = np.isfinite(trials.per_item(own, right)) & np.isfinite(trials.per_item(given, right))
    own, given = own & both[trials.item], given & both[trials.item]
    if given.any():
        yield builder.rate("given_rate", given, right)
        yield from builder.difference("search_gap", given, own, right)


def _given(trials: TrialColumns, own: Mask, arm: str) -> Mask:
    """Return the comparison trials for a `search` condition, in which the model is given the documents."""
    clean = np.asarray(trials.noise == 0)
    if arm == "withheld":
        return trials.of("rejection")
    if arm == "spread":
        return np.asarray(trials.of("integration") & clean)
    if arm.startswith("false="):
        shares = trials.correct[own]
        is_same = np.isclose(trials.correct, shares[0]) if len(shares) else np.zeros(len(trials.item), bool)
        return np.asarray(trials.of("counterfactual") & clean & is_same)
    return np.asarray(trials.of("noise") & clean)
