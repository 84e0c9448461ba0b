"""Own retrieval: what a system finds, what it makes of that, and what it loses against documents it is given.

The given documents are the run's own cases without noise: `noise` and `integration` at 0, `counterfactual` at 0 with
all documents true. Where the same questions were asked so, the difference is paired.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.knowledge import of_items
from ragbed.analysis.metrics.trial_columns import Mask, TrialColumns
from ragbed.analysis.statistics.binomial import Floats

_SHARES = ("retrieval_recall", "retrieved_distracts", "retrieved_contradicts", "retrieved_unknown", "cited_supports")
_STEPS = 5
"""Steps of the share of noise that accuracy is shown by: those of the paper's ratios."""


def measure(maker: CellBuilder) -> Iterator[Cell]:
    """The cells of the two testbeds."""
    sheet = maker.sheet
    for k in np.unique(sheet.k[sheet.of("own-retrieval") | sheet.of("own-rejection")]).tolist():
        own, without = (sheet.of(name) & (sheet.k == k) for name in ("own-retrieval", "own-rejection"))
        if own.any():
            yield from _found(maker, own, k)
            yield maker.rate("accuracy", own, maker.score("correct"), k=k)
            yield from _by_noise(maker, own, k)
            yield from _against_given(maker, own, k)
        if without.any():
            yield maker.rate("refusal_withheld", without, maker.score("refused"), k=k)


def _found(maker: CellBuilder, own: Mask, k: int) -> Iterator[Cell]:
    """Of the replies that say what was found; a reply that did not come says nothing of it."""
    yield maker.rate("retrieval_told", own, _values(maker.sheet, "retrieval_told"), k=k)
    for name in _SHARES:
        values = _values(maker.sheet, name)
        if np.isfinite(values[own]).any():
            yield maker.rate(name, own, values, k=k)


def _by_noise(maker: CellBuilder, own: Mask, k: int) -> Iterator[Cell]:
    """Accuracy where about so large a share of what was found does not support the answer."""
    noise = 1 - _values(maker.sheet, "retrieved_supports")
    steps = np.round(noise * _STEPS) / _STEPS
    for ratio in np.unique(steps[own & np.isfinite(steps)]).tolist():
        yield maker.rate(
            "accuracy_by_retrieved_noise", own & (steps == ratio), maker.score("correct"), noise=ratio, k=k
        )


def _against_given(maker: CellBuilder, own: Mask, k: int) -> Iterator[Cell]:
    sheet, correct = maker.sheet, maker.score("correct")
    clean = (sheet.k == k) & (sheet.noise == 0)
    oracle = clean & (sheet.of("noise") | sheet.of("integration") | (sheet.of("counterfactual") & (sheet.correct == 1)))
    asked = np.isfinite(sheet.per_item(own, correct)) & np.isfinite(sheet.per_item(oracle, correct))
    own, oracle = (mask & of_items(sheet, asked) for mask in (own, oracle))
    if oracle.any():
        yield maker.rate("accuracy_given", oracle, correct, k=k)
        yield maker.difference("retrieval_gap", oracle, own, correct, k=k)


def _values(sheet: TrialColumns, name: str) -> Floats:
    """A value as replies have it, whatever the track."""
    return sheet.scores.get(name, np.full(len(sheet.item), np.nan))
