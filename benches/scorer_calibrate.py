"""Calibrate the probabilities of the robust scorer's verdicts, and choose when a verdict is `unsure`.

    python -m benches scorer_calibrate [--write]

The probabilities are calibrated per language and label on the rows of `held-out-4`, to which the models were not
fitted. The tables are computed on each half of the rows by a calibration on the other half. `--write` stores the
calibration and the limits of `unsure` beside the models' weights.
"""

from __future__ import annotations

import argparse
import gzip
import zlib
from collections.abc import Iterator, Sequence
from typing import get_args

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.optimize import minimize

from benches.scorer_rows import CALIBRATION, Judged, judge_rows, read_part, read_written
from benches.scorer_train import WEIGHTS
from ragbed.schema import Lang
from ragbed.scoring.robust.model import MOST_CERTAIN, load_weights

BINS = 5
MOST_UNSURE = 0.05  # maximum share of responses between the limits of `unsure`
WIDTHS = range(41)  # in percent
PENALTY = 0.01  # draws the slope towards 1, for labels with few errors


def odds_of(rows: Sequence[Judged], label: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the log odds and the labels of the rows to which a calibration applies."""
    if label in ("correct", "parts"):
        rows, at, name = [each for each in rows if each.has_parts == (label == "parts")], 0, "correct"
    else:
        at, name = 1 if label == "refused" else 2, label
    odds = np.clip([each.judged.odds[at] for each in rows], -MOST_CERTAIN, MOST_CERTAIN)
    return odds, np.array([float(each.row.labels[name]) for each in rows])


def fit(odds: NDArray[np.float64], wanted: NDArray[np.float64]) -> tuple[float, float]:
    """Return the intercept and the slope of the logistic regression of a label on its log odds."""

    def loss(weights: NDArray[np.float64]) -> float:
        scores = weights[0] + weights[1] * odds
        penalty = PENALTY * len(odds) * ((weights[1] - 1) ** 2 + weights[0] ** 2) / 10
        return float(np.logaddexp(0, (1 - 2 * wanted) * scores).sum() + penalty)

    intercept, slope = minimize(loss, np.array([0.0, 1.0])).x
    return round(float(intercept), 3), round(float(slope), 3)


def main() -> None:
    """Print the calibration and the risk-coverage curve of both languages; with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="store the calibration beside the weights")
    write = parser.parse_args().write
    rows = judge_rows(read_part(CALIBRATION))
    print("| label, language | n | five bins: predicted % / observed % | calibration error |\n|---|---|---|---|")
    by_lang = {lang: [each for each in rows if each.row.case.lang == lang] for lang in get_args(Lang)}
    for lang, own in by_lang.items():
        for label in ("correct", "refused", "flagged"):
            print(f"| {label}, {lang} | {len(own)} | {_bins(own, label)} |")
    for lang, own in by_lang.items():
        limits = _print_curve(own, lang)
        if write:
            path = WEIGHTS / f"{lang}.json.gz"
            calibration = {name: fit(*odds_of(own, name)) for name in ("correct", "parts", "refused", "flagged")}
            weights = replace(load_weights(lang), limits=limits, calibration=calibration)
            path.write_bytes(gzip.compress(msgspec.json.encode(weights), mtime=0))


def _bins(rows: Sequence[Judged], label: str) -> str:
    """Return the predicted and the observed share in bins of equal size, and the mean difference."""
    chances, wanted = map(np.concatenate, zip(*_predict(rows, label), strict=True))
    order = np.argsort(chances, kind="stable")
    pairs = [(100 * chances[part].mean(), 100 * wanted[part].mean()) for part in np.array_split(order, BINS)]
    error = np.mean([abs(predicted - observed) for predicted, observed in pairs])
    return f"{', '.join(f'{one:.0f}/{other:.0f}' for one, other in pairs)} | {error:.1f} points"


def _predict(rows: Sequence[Judged], label: str) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield the probabilities and the labels of each half of the rows, calibrated on the other half."""
    halves = [[each for each in rows if zlib.crc32(each.row.case.question.encode()) % 2 == half] for half in (0, 1)]
    for own, other in (halves, halves[::-1]):
        for name in ("correct", "parts") if label == "correct" else (label,):
            intercept, slope = fit(*odds_of(other, name))
            odds, wanted = odds_of(own, name)
            yield 1 / (1 + np.exp(-intercept - slope * odds)), wanted


def _print_curve(rows: Sequence[Judged], lang: Lang) -> tuple[float, float]:
    """Print the error of decided credit for each width of the limits, and return the limits."""
    intercept, slope = fit(*odds_of(rows, "correct"))
    print(f"\n{lang}: credit by the width of `unsure` around a probability of one half\n")
    print("| width | unsure: ordinary, hard | wrong credit among decided: ordinary, hard |\n|---|---|---|")
    low, high = 0.0, 0.0
    for percent in WIDTHS:
        side = percent / 100
        limits = [float(np.log((0.5 + each) / (0.5 - each)) - intercept) / slope for each in (-side, side)]
        is_unsure = [not each.has_parts and limits[0] < each.judged.odds[0] <= limits[1] for each in rows]
        if sum(is_unsure) <= MOST_UNSURE * len(rows):
            low, high = limits
        if percent % 10 == 0:
            print(f"| ±{percent}% | {_risk(rows, is_unsure, sum(limits) / 2)} |")
    for each in judge_rows(row for row in read_written(lang) if row.source == "adversarial"):  # must be decided
        odds = each.judged.odds[0]
        if low < odds <= high and not each.has_parts:
            low, high = (low, odds - 0.01) if each.row.labels["correct"] else (odds, high)
    print(f"\nchosen limits of the log odds: {low:.2f} to {high:.2f}")
    return round(low, 2), round(high, 2)


def _risk(rows: Sequence[Judged], is_unsure: Sequence[bool], middle: float) -> str:
    """Return the shares of unsure verdicts, and those of wrong credit among the decided ones."""
    unsure, errors = [], []
    for is_ordinary in (True, False):
        own = [(each, left) for each, left in zip(rows, is_unsure, strict=True) if each.row.is_ordinary == is_ordinary]
        decided = [each for each, left in own if not left]
        given = [bool(each.judged.correct) if each.has_parts else each.judged.odds[0] > middle for each in decided]
        wrong = sum(credit != each.row.labels["correct"] for credit, each in zip(given, decided, strict=True))
        unsure.append(f"{1 - len(decided) / len(own):.1%}")
        errors.append(f"{wrong / max(1, len(decided)):.1%}")
    return f"{', '.join(unsure)} | {', '.join(errors)}"
