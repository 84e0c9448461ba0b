"""The results of `study/ABILITIES.md`: long contexts, confidence and search."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

from ragbed.analysis.metrics import measure
from ragbed.schema import Estimate
from study import MODELS
from study.outcomes import Outcomes, Prediction, short
from study.tables import points, share

LENGTHS = (1, 5, 10, 20)
TOO_LONG = 100  # the number of documents that does not fit in the smallest context
METHODS = ("logprobs", "agreement", "stated")
_SMALL, _MIDDLE, _LARGE = MODELS


def length_table(outcomes: Outcomes) -> Iterator[str]:
    """Yield the accuracy of each model by number of documents."""
    yield "| Model | Token limit | " + " | ".join(f"{k} documents" for k in LENGTHS) + " | Per doubling |"
    yield "|---|---|" + "---|" * len(LENGTHS) + "---|"
    for limit in (32, 256):
        for model in MODELS:
            cells = [share(estimate) for estimate in _accuracy(outcomes, model, limit)]
            slope = _slope(outcomes, model, limit)
            low, high = (f"{100 * (bound or 0.0):.1f}".replace("-", "−") for bound in (slope.low, slope.high))
            cells.append(f"{points(slope.value or 0.0)} [{low}, {high}]")
            yield f"| {short(model)} | {limit} | {' | '.join(cells)} |"


def _accuracy(outcomes: Outcomes, model: str, limit: int) -> list[Estimate]:
    find = partial(outcomes.find, f"long-{limit}", ("length", model, "en_base"), "accuracy")
    return [find(k=k) for k in LENGTHS]


@cache
def _slope(outcomes: Outcomes, model: str, limit: int) -> Estimate:
    """Return the change in accuracy per doubling of the number of documents, up to 20."""
    own = (trial for trial in outcomes.trials.by_run[f"long-{limit}"] if trial.model == model)
    cells = measure([trial for trial in own if trial.k <= LENGTHS[-1]], ["robust"])
    (slope,) = (cell.estimate for cell in cells if cell.estimate.metric == "slope_per_doubling")
    return slope


def _count_too_long(outcomes: Outcomes, model: str) -> tuple[int, int]:
    """Return how many cases of 100 documents were too long for a model, and how many there are."""
    errors = [
        (trial.error or "").startswith("too-long")
        for recording in outcomes.recordings
        if recording.name == f"{model}.long-32"
        for trial in recording.trials
        if recording.conditions[trial.condition].k == TOO_LONG
    ]
    return sum(errors), len(errors)


def confidence_table(outcomes: Outcomes) -> Iterator[str]:
    """Yield how well each kind of confidence tells right answers from wrong ones."""
    yield "| Confidence | Data | Model | AURC | Brier score | Coverage at 5% risk | Without confidence |"
    yield "|---|---|---|---|---|---|---|"
    for method in METHODS:
        for model, data in _confidence_rows():
            find = partial(outcomes.find, f"synthetic-{method}", ("selective", model, data))
            profile = "robust+stated" if method == "stated" else "robust"
            cells = [_decimal(find(metric, profile)) for metric in ("aurc", "brier")]
            cells += [share(find(metric, profile)) for metric in ("coverage_at_5", "no_confidence")]
            yield f"| `{method}` | `{data}` | {short(model)} | {' | '.join(cells)} |"


def _confidence_rows() -> Iterator[tuple[str, str]]:
    yield _SMALL, "en_base"
    for data in ("en_base", "zh_base"):
        for model in (_MIDDLE, _LARGE):
            yield model, data


def _decimal(estimate: Estimate) -> str:
    if estimate.value is None:
        return "–"
    return f"{estimate.value:.2f} [{estimate.low or 0.0:.2f}, {estimate.high or 0.0:.2f}]"
