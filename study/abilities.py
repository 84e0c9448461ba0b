"""The outcomes of the predictions in `study/ABILITIES.md` about long contexts and confidence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import numpy as np

from ragbed.analysis.metrics import measure
from ragbed.schema import Estimate
from study import MODELS
from study.outcomes import Outcomes, Prediction, is_sent

_LENGTHS = (1, 5, 10, 20)
_TOO_LONG = 100  # the number of documents that does not fit in the smallest context
_TOKENS, _CONTEXT = 32, 8192  # the limit on a response, and the context of the smallest model
_METHODS = ("logprobs", "agreement", "stated")
_SMALL, _MIDDLE, _LARGE = MODELS
_CONFIDENT = (
    (_SMALL, "en_base"),
    *((model, data) for data in ("en_base", "zh_base") for model in (_MIDDLE, _LARGE)),
)


def ability_predictions(outcomes: Outcomes) -> Iterator[Prediction]:
    """Yield the outcome of each prediction."""
    slope = _slope(outcomes, _SMALL)
    accuracy, middle = _accuracy(outcomes, _SMALL), _accuracy(outcomes, _MIDDLE)
    yield Prediction(1, (slope.high or 0.0) < 0, f"{100 * (slope.value or 0.0):.1f} points per doubling")
    ends = accuracy[0], accuracy[-1]
    yield Prediction(2, ends[0] >= 0.5 and ends[1] <= 0.3, " and ".join(f"{100 * rate:.1f}%" for rate in ends))
    errors, cases, longest = _count_too_long(outcomes)
    is_right = 2 * errors > cases and longest + _TOKENS <= _CONTEXT
    yield Prediction(3, is_right, f"{errors} of {cases} cases too long; longest prompt sent {longest:,} tokens")
    higher = sum(second > first for first, second in zip(accuracy, middle, strict=True))
    yield Prediction(4, higher == len(_LENGTHS), f"higher at {higher} of {len(_LENGTHS)} lengths")
    over = sum(_is_overconfident(outcomes, model, data) for model, data in _CONFIDENT)
    yield Prediction(5, over == len(_CONFIDENT), f"{over} of {len(_CONFIDENT)} rows")
    coverage = [_value(outcomes, method, row, "coverage_at_5") or 0.0 for method in _METHODS for row in _CONFIDENT]
    yield Prediction(6, max(coverage) < 0.2, f"highest coverage {100 * max(coverage):.1f}%")
    lower = [_is_better(outcomes, method, data) for method in _METHODS for data in ("en_base", "zh_base")]
    yield Prediction(7, all(lower), f"lower in {sum(lower)} of {len(lower)} rows")
    missing = _value(outcomes, "stated", (_SMALL, "en_base"), "no_confidence") or 0.0
    yield Prediction(8, missing > 0.5, f"{100 * missing:.1f}% without a usable value")


def _accuracy(outcomes: Outcomes, model: str) -> list[float]:
    find = partial(outcomes.find, "long-32", ("length", model, "en_base"), "accuracy")
    return [find(k=k).value or 0.0 for k in _LENGTHS]


def _slope(outcomes: Outcomes, model: str) -> Estimate:
    """Return the change in accuracy per doubling of the number of documents, up to 20."""
    own = (trial for trial in outcomes.trials.by_run["long-32"] if trial.model == model)
    cells = measure([trial for trial in own if trial.k <= _LENGTHS[-1]], ["robust"])
    (slope,) = (cell.estimate for cell in cells if cell.estimate.metric == "slope_per_doubling")
    return slope


def _count_too_long(outcomes: Outcomes) -> tuple[int, int, int]:
    """Return the smallest model's number of cases that were too long, its number of cases, and its longest prompt."""
    trials = [
        trial
        for recording in outcomes.recordings
        if recording.name == f"{_SMALL}.long-32"
        for trial in recording.trials
        if recording.conditions[trial.condition].k == _TOO_LONG
    ]
    sent = [trial for trial in trials if is_sent(trial)]
    return len(trials) - len(sent), len(trials), max(trial.usage[0] for trial in sent if trial.usage)


def _value(outcomes: Outcomes, method: str, row: tuple[str, str], metric: str) -> float | None:
    """Return a metric of a model's confidence, or None if no answer has a usable confidence."""
    model, data = row
    profile = "robust+stated" if method == "stated" else "robust"
    with suppress(KeyError):
        return outcomes.find(f"synthetic-{method}", ("selective", model, data), metric, profile).value
    return None


def _is_better(outcomes: Outcomes, method: str, data: str) -> bool:
    """Return whether AURC is lower for the largest model; False if it is undefined for a model."""
    large, middle = (_value(outcomes, method, (model, data), "aurc") for model in (_LARGE, _MIDDLE))
    return large is not None and middle is not None and large < middle


def _is_overconfident(outcomes: Outcomes, model: str, data: str) -> bool:
    """Return whether a model's mean confidence, based on log-probabilities, exceeds its accuracy."""
    answers = [
        (trial.scores["confidence"], trial.scores["correct"])
        for trial in outcomes.trials.by_run["synthetic-logprobs"]
        if (trial.model, trial.data) == (model, data) and trial.scores and "confidence" in trial.scores
    ]
    confidence, correct = np.array(answers, dtype=float).mean(axis=0)
    return bool(confidence > correct)
