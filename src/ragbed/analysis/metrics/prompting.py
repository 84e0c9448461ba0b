"""Metrics of how models are prompted: strategies and their citations.

A strategy's trials form a separate group, named after profile and strategy (`robust+quote`). They are paired with the
trials of the same profile with the plain prompt. Conditions that both groups have are pooled by testbed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.statistics.paired import changes
from ragbed.analysis.statistics.testing import Floats
from ragbed.analysis.trials.columns import Mask, TrialColumns, TrialGroup
from ragbed.testbeds import headline_score
from ragbed.testbeds.prompts.strategies import MARK

WANTED = {name: headline_score(name) for name in ("noise", "rejection", "integration", "counterfactual")}
"""The main score of each testbed."""
COSTS = ("calls", "tokens_in", "tokens_out", "seconds")


def measure_strategies(groups: Sequence[TrialColumns], scorer: str, alpha: float) -> Iterator[Cell]:
    """Yield the cells of each prompting strategy, preceded by the cells of the plain prompt for comparison."""
    plain = {trials.key: trials for trials in groups if MARK not in trials.key.profile}
    described: set[TrialGroup] = set()
    for trials in groups:
        profile, mark, _ = trials.key.profile.partition(MARK)
        base = plain.get(trials.key._replace(profile=profile)) if mark else None
        if base is not None:
            if base.key not in described:
                described.add(base.key)
                yield from _describe(CellBuilder("remedies", base, scorer, alpha=alpha))
            builder = CellBuilder("remedies", trials, scorer, alpha=alpha)
            yield from _describe(builder)
            yield from _gains(builder, base)


def _gains(builder: CellBuilder, base: TrialColumns) -> Iterator[Cell]:
    trials = builder.trials
    cluster = {base.items[item]: number for item, number in zip(base.item, base.cluster.tolist(), strict=True)}
    for testbed, name in WANTED.items():
        mask, values = trials.of(testbed), builder.score(name)
        before = _by_condition(base, base.of(testbed), base.score(name, builder.scorer))
        after = _by_condition(trials, mask, values)
        paired = sorted(before.keys() & after.keys())
        if paired:
            moved = changes(*([fmean(side[condition]) for condition in paired] for side in (before, after)))
            weights = np.array([len(before[condition]) + len(after[condition]) for condition in paired])
            clusters = np.array([cluster[item] for item, *_ in paired])
            items = {item for item, *_ in paired}
            scored = mask & np.isfinite(values) & np.array([item in items for item in trials.items])[trials.item]
            yield builder.paired(f"{testbed}_gain", moved, weights, clusters, mask, scored)


def _by_condition(trials: TrialColumns, mask: Mask, values: Floats) -> dict[tuple[str, ...], list[float]]:
    """Return the scores for each question and condition, over all position permutations."""
    found: dict[tuple[str, ...], list[float]] = {}
    used = np.flatnonzero(mask & np.isfinite(values))
    conditions = [getattr(trials, name)[used].tolist() for name in ("noise", "correct", "k", "seed", "repeat")]
    items = [trials.items[item] for item in trials.item[used].tolist()]
    for *condition, value in zip(items, *conditions, values[used].tolist(), strict=True):
        found.setdefault(tuple(condition), []).append(value)
    return found


def _describe(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the rates for each testbed and the mean costs of the responses."""
    trials = builder.trials
    masks = {testbed: trials.of(testbed) for testbed in WANTED}
    for testbed, mask in masks.items():
        if mask.any():
            yield builder.rate(f"{testbed}_rate", mask, builder.score(WANTED[testbed]))
    union = np.logical_or.reduce(list(masks.values()))
    for name, values in trials.present(COSTS, union):
        yield builder.ratio(name, union, values)


def measure_citations(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the mean citation scores of responses with an answer, over all noise ratios and for each ratio."""
    trials = builder.trials
    for k, mask in trials.split(trials.of("noise") | trials.of("integration"), "k"):
        yield from builder.at(k=k).rates(mask)
        for ratio, point in trials.split(mask, "noise"):
            yield from builder.at(noise=ratio, k=k).rates(point)
