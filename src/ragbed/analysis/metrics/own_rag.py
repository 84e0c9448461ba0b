"""Metrics for the `own-rag` testbed: accuracy and retrieval quality by variant of the corpus.

Each changed corpus is compared with the original one, paired by question.
"""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.injection import measure_attacks
from ragbed.testbeds import headline_score
from ragbed.testbeds.own_rag import INJECTED, NAME, WITHHELD
from ragbed.testbeds.settings import CLEAN


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the testbed for each variant of the corpus and number of documents."""
    trials = builder.trials
    for arm in [arm for testbed, arm in trials.kinds if testbed == NAME]:
        for k, mask in trials.split(trials.of(NAME, arm), "k"):
            here = builder.at(k=k, arm=arm)
            yield here.rate("accuracy", mask, here.score(headline_score(NAME, arm)))
            if arm != WITHHELD:
                yield here.rate("false_refusal", mask, here.score("refused"))
            yield from here.rates(mask)
            if arm == INJECTED:
                yield from measure_attacks(here, mask)
            clean = trials.of(NAME, CLEAN) & (trials.k == k)
            if arm not in (CLEAN, WITHHELD) and clean.any():
                yield from here.difference("corpus_change", clean, mask, here.score("correct"))
