"""Estimate the share of correct items in a build from the items' scores and a set of labelled items.

The labelled items were built from other documents.

To reach a requested precision, items below a threshold are dropped. Three thresholds are tested: those that keep all
labelled items, two thirds and one third of them. The lowest one is used whose one-sided lower bound for the share of
correct items is high enough. The bounds together have a confidence of 95%.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from ragbed.analysis.statistics.binomial import upper_bound
from ragbed.builder.rules import GENERATOR
from ragbed.errors import MALFORMED_JSON, DataError
from ragbed.io.jsonl import write_whole
from ragbed.io.locations import read_regular

PROMISES = "precision.json"
MIN_LABELS = 60  # minimum number of labels; even without errors, a lower confidence bound of 0.95 requires 59 labels
_LEVEL = 0.95
_THIRDS = (3, 2, 1)  # the tested thresholds keep 3/3, 2/3 and 1/3 of the labelled items
_TESTED_LEVEL = 1 - (1 - _LEVEL) / len(_THIRDS)  # confidence level of each bound (Bonferroni correction)
_PRIOR = 0.5  # Jeffreys prior: pseudo-count added to the numbers of correct and incorrect items


class CalibrationLabel(Struct, frozen=True, kw_only=True):
    """A labelled item: its score, and whether a person or model judged it to be correct and clear."""

    generator: str  # "rules", or the name of the prompt with which a model wrote the question
    lang: str
    score: float
    right: bool
    reader: str  # person or model that labelled the item
    documents: str  # documents that the item was built from


class Promise(Struct, frozen=True, kw_only=True):
    """An estimate of the share of correct items.

    Attributes:
        items: Number of items at or above the threshold.
        dropped: Number of items below it.
        threshold: Minimum score of an item.
        labels: Number of labelled items at or above the threshold.
        right: Number of these labelled items that are correct.
        share: Expected share of correct items; None with fewer than 60 labels.
        low, high: 95% prediction interval for the share among `items`.
        bound: One-sided 95% lower bound on the share of correct items among all items that the generator creates.
        wanted: The requested precision.
    """

    items: int
    dropped: int
    threshold: float
    labels: int
    right: int
    share: float | None = None
    low: float | None = None
    high: float | None = None
    bound: float | None = None
    wanted: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the lower bound reaches the requested precision."""
        return self.wanted is not None and self.bound is not None and self.bound >= self.wanted


@cache
def read_labels(generator: str, prompt: str) -> tuple[CalibrationLabel, ...]:
    """Return the labelled items created by the rules or with the given prompt; most prompts have none."""
    kind = GENERATOR if generator == GENERATOR else prompt
    source = files("ragbed.builder") / "calibration.jsonl"
    lines = source.read_bytes().splitlines()
    labels = (msgspec.json.decode(line, type=CalibrationLabel) for line in lines if line.strip())
    return tuple(label for label in labels if label.generator == kind)


def make_promise(
    labels: Sequence[CalibrationLabel], scores: Sequence[float], wanted: float | None, most: int | None = None
) -> Promise:
    """Estimate the share of correct items among those with the given scores.

    Args:
        labels: Labelled items built from other documents.
        scores: Scores of the items.
        wanted: Precision to reach by dropping items; None keeps all items.
        most: Maximum number of items to deliver.
    """
    threshold = 0.0 if wanted is None or len(labels) < MIN_LABELS else _threshold(labels, wanted)
    kept = [score for score in scores if score >= threshold]
    own = [label for label in labels if label.score >= threshold]
    right = sum(label.right for label in own)
    items = len(kept) if most is None else min(most, len(kept))
    promise = Promise(
        items=items,
        dropped=len(scores) - len(kept),
        threshold=threshold,
        labels=len(own),
        right=right,
        wanted=wanted,
    )
    if len(own) < MIN_LABELS or not items:
        return promise
    low, high = predict(right, len(own), items)
    level = _LEVEL if wanted is None else _TESTED_LEVEL
    bound = 1 - upper_bound(len(own) - right, len(own), level)
    return msgspec.structs.replace(promise, share=right / len(own), low=low, high=high, bound=bound)


def describe_promise(promise: Promise) -> str:
    """Return a sentence that states the expected share of correct items and its basis."""
    dropped = (
        f" {promise.dropped:,} items with a score below {promise.threshold:.2f} were dropped."
        if promise.dropped
        else ""
    )
    if promise.share is None or promise.low is None or promise.high is None:
        few = (
            f"only {promise.labels} calibration labels, but {MIN_LABELS} are required"
            if promise.items
            else "there are no items"
        )
        return f"the share of correct items cannot be estimated ({few}).{dropped} Review a sample: ragbed review."
    text = f"{promise.share:.1%} of the {promise.items:,} items are expected to be correct"
    text += f" (95% interval {promise.low:.1%} to {promise.high:.1%}, {promise.labels} calibration labels)."
    if promise.wanted is not None and promise.bound is not None:
        text += (
            f" With 95% confidence, at least {promise.bound:.1%} of all such items are correct; the requested "
            f"precision was {promise.wanted:.0%}."
        )
    return text + dropped


def correct_promise(promise: Promise, wrong: int, sampled: int) -> Promise:
    """Update an estimate after a review of a random sample of the items.

    The labels from other documents count as at most 60 items, so a review of a few dozen items soon outweighs them.
    """
    weight = min(1.0, MIN_LABELS / promise.labels) if promise.labels else 0.0
    right = promise.right * weight + sampled - wrong
    labels = promise.labels * weight + sampled
    rest = max(0, promise.items - sampled)
    low, high = predict(right, labels, rest) if rest else (0.0, 0.0)
    known = sampled - wrong
    total = max(1, known + wrong + rest)
    share = (known + rest * (right / labels if labels else 0.0)) / total
    return msgspec.structs.replace(
        promise, share=share, low=(known + low * rest) / total, high=(known + high * rest) / total
    )


def predict(right: float, labels: float, items: int) -> tuple[float, float]:
    """Return the 95% prediction interval for the share of correct items (beta-binomial, Jeffreys prior)."""
    from scipy.special import betaln, gammaln  # noqa: PLC0415 - slow to import

    a, b = right + _PRIOR, labels - right + _PRIOR
    hits = np.arange(items + 1)
    ways = gammaln(items + 1) - gammaln(hits + 1) - gammaln(items - hits + 1)
    total = np.cumsum(np.exp(ways + betaln(hits + a, items - hits + b) - betaln(a, b)))
    tail = (1 - _LEVEL) / 2
    low, high = np.searchsorted(total, [tail, 1 - tail])
    return float(low) / items, float(min(high, items)) / items


def write_promises(folder: Path, promises: Mapping[str, Promise]) -> None:
    """Write the estimates for each item file."""
    with write_whole(folder / PROMISES) as sink:
        sink.write(msgspec.json.format(msgspec.json.encode(promises), indent=1) + b"\n")


def read_promises(folder: Path) -> dict[str, Promise]:
    """Return the estimates in a build's folder, keyed by item file, or an empty dictionary if there are none."""
    path = folder / PROMISES
    try:
        return msgspec.json.decode(read_regular(path), type=dict[str, Promise])
    except FileNotFoundError:
        return {}
    except MALFORMED_JSON as error:
        raise DataError(path, f"{error}; rerun the build to write the file again") from error


def _threshold(labels: Sequence[CalibrationLabel], wanted: float) -> float:
    """Return the lowest tested threshold that guarantees the requested precision, or a value above 1 if none does."""
    scores = sorted((label.score for label in labels), reverse=True)
    for thirds in _THIRDS:
        threshold = 0.0 if thirds == max(_THIRDS) else scores[len(scores) * thirds // max(_THIRDS) - 1]
        own = [label.right for label in labels if label.score >= threshold]
        if len(own) >= MIN_LABELS and 1 - upper_bound(own.count(False), len(own), _TESTED_LEVEL) >= wanted:
            return threshold
    return 2.0
