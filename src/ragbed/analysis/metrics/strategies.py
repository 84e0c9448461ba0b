"""Remedies against the plain prompt: the same questions and documents, what is gained, and what it costs (claim C10).

A remedy's trials stand in a sheet of their own, under the profile and the remedy (`robust+quote`); they are paired with
those of the profile alone. Conditions that both were asked are taken together, testbed by testbed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.trial_columns import Mask, TrialColumns, TrialGroup
from ragbed.analysis.statistics.paired import paired_difference, sign_flips
from ragbed.analysis.statistics.rates import clustered_mean
from ragbed.testbeds import headline_score
from ragbed.testbeds.prompts.strategies import MARK

WANTED = {name: headline_score(name) for name in ("noise", "rejection", "integration", "counterfactual")}
"""The score that a testbed is about."""
COSTS = ("calls", "tokens_in", "tokens_out", "seconds")

_Condition: TypeAlias = tuple[str, float, float, int, int, int]
"""Question, noise, share of true documents, number of documents, seed, repeat."""


def measure(sheets: Sequence[TrialColumns], track: str) -> Iterator[Cell]:
    """The cells of the plain prompt, and of every remedy below it."""
    plain = {sheet.key: sheet for sheet in sheets if MARK not in sheet.key.profile}
    described: set[TrialGroup] = set()
    for sheet in sheets:
        profile, mark, _ = sheet.key.profile.partition(MARK)
        base = plain.get(sheet.key._replace(profile=profile)) if mark else None
        if base is not None:
            if base.key not in described:
                described.add(base.key)
                yield from _describe(CellBuilder("remedies", base, track))
            yield from _compare(CellBuilder("remedies", sheet, track), base)


def _compare(maker: CellBuilder, base: TrialColumns) -> Iterator[Cell]:
    yield from _describe(maker)
    for testbed, name in WANTED.items():
        here = maker.sheet.of(testbed)
        moved = _moved(base, maker.sheet, testbed, maker.sheet.score(name, maker.track), base.score(name, maker.track))
        if moved:
            yield maker.interval(f"{testbed}_gain", paired_difference(moved), len(moved), here)
            yield maker.number(f"{testbed}_gain_p", sign_flips(moved), len(moved), here)


def _describe(maker: CellBuilder) -> Iterator[Cell]:
    """How well, and at what price, whoever is asked so."""
    sheet = maker.sheet
    asked = np.zeros(len(sheet.item), np.bool_)
    for testbed, name in WANTED.items():
        here = sheet.of(testbed)
        asked |= here
        if here.any():
            yield maker.rate(f"{testbed}_rate", here, maker.score(name))
    yield from _costs(maker, asked)


def _costs(maker: CellBuilder, asked: Mask) -> Iterator[Cell]:
    """Means over the replies that came."""
    for name in COSTS:
        values = maker.sheet.scores.get(name)
        told = asked if values is None else asked & np.isfinite(values)
        if values is not None and told.any():
            _, cluster = np.unique(maker.sheet.cluster[told], return_inverse=True)
            totals, counts = np.bincount(cluster, weights=values[told]), np.bincount(cluster)
            yield maker.interval(name, clustered_mean(totals.tolist(), counts.tolist()), int(told.sum()), asked)


def _moved(
    base: TrialColumns, sheet: TrialColumns, testbed: str, values: np.ndarray, base_values: np.ndarray
) -> list[float]:
    """For every question (or event), the remedy's mean minus the plain one's over conditions that both were asked."""
    before, after = _by_condition(base, testbed, base_values), _by_condition(sheet, testbed, values)
    cluster = dict(zip(base.item.tolist(), base.cluster.tolist(), strict=True))
    number = {item: place for place, item in enumerate(base.items)}
    changes: dict[int, list[float]] = {}
    for condition in before.keys() & after.keys():
        of = cluster[number[condition[0]]]
        changes.setdefault(of, []).append(after[condition] - before[condition])
    return [float(np.mean(changes[of])) for of in sorted(changes)]


def _by_condition(sheet: TrialColumns, testbed: str, values: np.ndarray) -> dict[_Condition, float]:
    """The mean score of every condition, rotations taken together."""
    found: dict[_Condition, list[float]] = {}
    for place in np.flatnonzero(sheet.of(testbed) & np.isfinite(values)).tolist():
        condition = (
            sheet.items[sheet.item[place]],
            float(sheet.noise[place]),
            float(sheet.correct[place]),
            int(sheet.k[place]),
            int(sheet.seed[place]),
            int(sheet.repeat[place]),
        )
        found.setdefault(condition, []).append(float(values[place]))
    return {condition: float(np.mean(scores)) for condition, scores in found.items()}
