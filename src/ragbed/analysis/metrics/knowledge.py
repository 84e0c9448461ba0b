"""What models know without documents (closed book), and whether they follow it or the documents in a conflict.

A model's closed-book answer is its prior. Prior bias and context bias follow ClashEval (Wu, Wu and Zou, 2024): the
share of responses that follow the prior if only the documents are right, and that follow the documents if only the
prior is right.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.trials.columns import Mask, TrialColumns
from ragbed.testbeds.conflict import STRENGTHS


def measure_closed_book(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the closed-book testbed."""
    for testbed, ending in (("closed-book", ""), ("no-documents", "_instructed")):
        mask = builder.trials.of(testbed)
        if mask.any():
            yield builder.rate(f"accuracy{ending}", mask, builder.score("correct"))
            yield builder.rate(f"refusal{ending}", mask, builder.score("refused"))


PRIORS = ("right", "wrong", "none")
_UNKNOWN = -1  # used instead of an index into PRIORS for questions without closed-book responses


def priors(trials: TrialColumns, scorer: str) -> NDArray[np.int64]:
    """Return each question's prior, i.e. the majority outcome of its closed-book responses, as an index into PRIORS.

    A prior is `none` if most responses refuse, or if there is no majority.
    """
    closed = trials.of("closed-book") & trials.responded(scorer)
    correct, refused = trials.score("correct", scorer), trials.score("refused", scorer)
    right = trials.per_item(closed, correct)
    wrong = trials.per_item(closed, (1 - correct) * (1 - refused))
    return np.asarray(np.select([np.isnan(right), right > 0.5, wrong > 0.5], [_UNKNOWN, 0, 1], 2), np.int64)


def measure_conflict(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the conflict testbed."""
    trials, scorer = builder.trials, builder.scorer
    for k, mask in trials.split(trials.of("conflict"), "k"):
        here, of_items = builder.at(k=k), priors(trials, scorer)
        by_prior = {name: mask & (of_items[trials.item] == number) for number, name in enumerate(PRIORS)}
        present = np.isin(np.arange(len(of_items)), trials.item[mask]) & (of_items != _UNKNOWN)
        clusters = trials.clusters_of(trials.item, len(trials.items))[present]
        for number, name in enumerate(PRIORS) if present.any() else ():
            yield here.share(f"prior_{name}", of_items[present] == number, clusters, trials.of("closed-book"))
        yield from _biases(here, by_prior)
        for ending, part in {"": mask, **{f"_prior_{name}": part for name, part in by_prior.items()}}.items():
            for true, point in trials.split(part, "correct"):
                at_share = builder.at(correct=true, k=k)
                yield at_share.rate(f"accuracy{ending}", point, builder.score("correct"))
                if trials.has("misled", scorer):
                    yield at_share.rate(f"misled{ending}", point, builder.score("misled"))


def _biases(builder: CellBuilder, by_prior: dict[str, Mask]) -> Iterator[Cell]:
    """Yield prior bias, context bias, and accuracy when only the prior or only the documents are right."""
    trials, correct = builder.trials, builder.score("correct")
    wrong = (1 - correct) * (1 - builder.score("refused")) * trials.responded(builder.scorer)
    only_prior = by_prior["right"] & (trials.correct == 0)
    only_documents = by_prior["wrong"] & (trials.correct == 1)
    if only_prior.any() and only_documents.any():
        yield builder.mean_of_rates("conflict_accuracy", (only_prior, correct), (only_documents, correct))
    if only_documents.any():
        yield builder.rate("prior_bias", only_documents, wrong)
    if only_prior.any() and trials.has("misled", builder.scorer):
        misled = builder.score("misled")
        yield builder.rate("context_bias", only_prior, misled)
        strength = trials.additional("false_strength")
        for number, name in enumerate(STRENGTHS):
            if (only_prior & (strength == number)).any():
                yield builder.rate(f"context_bias_{name}", only_prior & (strength == number), misled)
