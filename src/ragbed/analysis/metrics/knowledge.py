"""Measure which questions a model can answer without documents (closed book), and how documents change its answers.

Some samples decide which questions are known; only the others are scored. A question that was answered by chance is
likely to be answered wrongly next time, so accuracy over the same samples would be too high (regression
to the mean).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from ragbed.analysis.metrics.cells import INTEGRATION, Cell, CellBuilder, CellKey
from ragbed.analysis.metrics.trial_columns import Ints, Mask, TrialColumns
from ragbed.analysis.statistics.binomial import Floats
from ragbed.analysis.statistics.paired import sign_flips


def gate_samples(trials: TrialColumns) -> Mask:
    """Return the closed-book trials that determine the known questions: every other repeat, starting with the first."""
    return np.asarray(trials.of("closed-book") & (trials.repeat % 2 == 0))


def gate_accuracy(trials: TrialColumns, track: str) -> Floats:
    """Return each question's accuracy on its gate samples (above 0.5 for known questions), or NaN if it has none.

    Failed calls are ignored, because they do not show whether the model knows the answer.
    """
    return trials.per_item(gate_samples(trials) & ~trials.failed, trials.score("correct", track))


def of_known(trials: TrialColumns, track: str) -> Mask:
    """Return the trials whose questions are known."""
    return np.asarray((gate_accuracy(trials, track) > 0.5)[trials.item])


def common_items(groups: Sequence[TrialColumns], track: str) -> set[str]:
    """Return the questions that all models know."""
    known = [
        {trials.items[number] for number in np.flatnonzero(gate_accuracy(trials, track) > 0.5)} for trials in groups
    ]
    return set.intersection(*known)


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the closed-book testbed."""
    for testbed, ending in (("closed-book", ""), ("no-documents", "_instructed")):
        mask = builder.trials.of(testbed)
        if mask.any():
            yield builder.rate(f"accuracy{ending}", mask, builder.score("correct"))
            yield builder.rate(f"refusal{ending}", mask, builder.score("refused"))


def measure_transitions(builder: CellBuilder) -> Iterator[Cell]:
    """Yield, for each noise ratio, the share of questions with each sequence of verdicts, and the gain from documents.

    A sequence consists of a question's verdicts in three settings: closed-book, at the lowest noise ratio with results
    and at the noise ratio. A verdict is the majority verdict of the question's trials in that setting. The eight
    sequences are named after their verdicts, e.g. `wrong_right_wrong`. If there are cases of both `noise` and
    `integration`, the latter have their own distractor condition, `INTEGRATION`.
    """
    trials, correct = builder.trials, builder.score("correct")
    has_both = all((trials.of(testbed) & trials.asked).any() for testbed in ("noise", INTEGRATION))
    for testbed in ("noise", INTEGRATION):
        for k, mask in trials.split(trials.of(testbed), "k"):
            points = [point for point in trials.split(mask, "noise") if np.isfinite(correct[point[1]]).any()]
            for ratio, point in points:
                place = CellKey(noise=ratio, k=k)
                if has_both and testbed == INTEGRATION:
                    place["arm"] = INTEGRATION
                settings = [trials.of("closed-book"), points[0][1], point]
                verdicts = np.column_stack([trials.per_item(setting, correct) for setting in settings])
                complete = np.asarray(np.isfinite(verdicts).all(axis=1))
                if complete.any():
                    here, union = builder.at(**place), np.logical_or.reduce(settings)
                    clusters = trials.clusters_of(trials.item, len(trials.items))[complete]
                    yield from _transition_cells(here, verdicts[complete] > 0.5, clusters, union)
                    of_complete = complete[trials.item]
                    yield from _gain(here, settings[0] & of_complete, point & of_complete, correct)


def _transition_cells(builder: CellBuilder, verdicts: Mask, clusters: Ints, mask: Mask) -> Iterator[Cell]:
    before, after = verdicts[:, 0], verdicts[:, 2]
    yield builder.share("no_degradation", ~before | after, clusters, mask)
    yield builder.share("harmed_by_documents", before & ~after, clusters, mask)
    yield builder.share("helped_by_documents", after & ~before, clusters, mask)
    for path in product((False, True), repeat=3):
        name = "_".join("right" if right else "wrong" for right in path)
        yield builder.share(name, (verdicts == path).all(axis=1), clusters, mask)


def _gain(builder: CellBuilder, closed: Mask, point: Mask, correct: Floats) -> Iterator[Cell]:
    """Yield the accuracy with documents minus the accuracy without them, on the same questions."""
    yield builder.difference("gain_by_documents", closed, point, correct)
    if builder.alpha is not None:  # the test assumes a fixed number of questions
        return
    moved, counts = builder.moved(closed, point, correct)
    yield builder.number("gain_p", sign_flips(moved, counts=counts), int(counts.sum()), closed | point)
