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
from typing import NamedTuple, get_args

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.optimize import minimize

from benches.scorer import FOLDER
from benches.scorer_rows import ORDINARY, read_final_labels, read_rows
from benches.scorer_train import WEIGHTS
from ragbed.schema import Lang
from ragbed.scoring.robust.model import MOST_CERTAIN, load_weights
from ragbed.scoring.robust.verdict import RobustVerdict, judge
from tests.scoring.robust.adversarial_cases import read_cases

BINS = 5
MOST_UNSURE = 0.05  # maximum share of responses between the limits of `unsure`
WIDTHS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
PENALTY = 0.01  # draws the slope towards 1, for labels with few errors


class Judged(NamedTuple):
    """A labelled row with its verdict."""

    question: str
    lang: Lang
    parts: int
    is_ordinary: bool
    judged: RobustVerdict
    labels: dict[str, bool]


def read_judged() -> list[Judged]:
    """Return the verdicts on all rows that are used for the calibration."""
    labels = read_final_labels(FOLDER, "held-out-4")
    return [
        Judged(
            row.question,
            row.lang,
            len(row.answer),
            row.stratum in ORDINARY,
            judge(row.case(), row.response),
            labels[row.id],
        )
        for row in read_rows(FOLDER, "held-out-4")
    ]


def odds_of(rows: Sequence[Judged], label: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the log odds and the labels of the rows to which a calibration applies."""
    if label in ("correct", "parts"):
        rows, at, name = [each for each in rows if (each.parts > 1) == (label == "parts")], 0, "correct"
    else:
        at, name = 1 if label == "refused" else 2, label
    odds = np.clip([each.judged.odds[at] for each in rows], -MOST_CERTAIN, MOST_CERTAIN)
    return odds, np.array([float(each.labels[name]) for each in rows])


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
    rows = read_judged()
    print("| label, language | n | five bins: predicted % / observed % | calibration error |\n|---|---|---|---|")
    for lang in get_args(Lang):
        own = [each for each in rows if each.lang == lang]
        for label in ("correct", "refused", "flagged"):
            print(f"| {label}, {lang} | {len(own)} | {_bins(own, label)} |")
    for lang in get_args(Lang):
        own = [each for each in rows if each.lang == lang]
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
    halves = [[each for each in rows if zlib.crc32(each.question.encode()) % 2 == half] for half in (0, 1)]
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
    best = (0.0, 0.0)
    for width in WIDTHS:
        low, high = ((np.log((0.5 + side) / (0.5 - side)) - intercept) / slope for side in (-width, width))
        cells: list[list[str]] = [[], []]
        shares = []
        for is_ordinary in (True, False):
            own = [each for each in rows if each.is_ordinary == is_ordinary]
            unsure = [each.parts == 1 and low < each.judged.odds[0] <= high for each in own]
            wrong = [
                (each.judged.odds[0] > (low + high) / 2 if each.parts == 1 else bool(each.judged.correct))
                != each.labels["correct"]
                for each in own
            ]
            decided = [error for error, left_out in zip(wrong, unsure, strict=True) if not left_out]
            shares.append(sum(unsure))
            cells[0].append(f"{sum(unsure) / len(own):.1%}")
            cells[1].append(f"{sum(decided) / max(1, len(decided)):.1%}")
        print(f"| ±{width:.0%} | {', '.join(cells[0])} | {', '.join(cells[1])} |")
        if sum(shares) <= MOST_UNSURE * len(rows):
            best = (round(float(low), 2), round(float(high), 2))
    low, high = best
    for each in read_cases(lang):  # adversarial cases must be decided
        odds = judge(each.case, each.reply).odds[0]
        if low < odds <= high and len(each.case.answer) == 1:
            low, high = (low, odds - 0.01) if each.correct else (odds, high)
    print(f"\nchosen limits of the log odds: {low:.2f} to {high:.2f}")
    return round(float(low), 2), round(float(high), 2)
