"""Samples that are too small or too uniform give a documented interval or a named refusal, and never NaN."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ragbed.analysis.comparison import ComparedCondition, ComparedQuestion, Side, compare, rank_models
from ragbed.analysis.gates import check_declines, check_floors, parse_floor
from ragbed.analysis.metrics import measure
from ragbed.analysis.statistics.labels import agreement, prediction_powered
from ragbed.analysis.statistics.paired import paired_difference
from ragbed.analysis.statistics.rates import clustered_wilson
from ragbed.analysis.trials.columns import Trial, group_rows
from ragbed.errors import UsageError
from ragbed.reporting.formats import FORMATS
from ragbed.reporting.tables import make_report

_NOISE = (0.0, 0.4, 0.8)


def _trials(questions: int, correct: Callable[[int, float], bool], event: str | None = None) -> list[Trial]:
    settings = [("noise", ratio) for ratio in _NOISE] + [("rejection", 1.0), ("closed-book", None)]
    return [
        Trial(
            model="m",
            data="en",
            item=str(question),
            lang="en",
            testbed=testbed,
            profile="robust",
            noise=noise,
            k=5 if noise is not None else 0,
            cluster=event,
            slots=(0,),
            scores={"correct": correct(question, noise or 0.0), "refused": not correct(question, noise or 0.0)},
        )
        for testbed, noise in settings
        for question in range(questions)
    ]


_SAMPLES = {
    "one question": _trials(1, lambda _, noise: noise < 0.5),
    "one cluster": _trials(9, lambda question, _: question % 2 == 0, "one event"),
    "two questions": _trials(2, lambda question, _: question == 0),
    "all right": _trials(20, lambda *_: True),
    "all wrong": _trials(20, lambda *_: False),
    "all right at first": _trials(20, lambda _, noise: noise < 0.5),
}


@pytest.mark.parametrize("name", _SAMPLES)
def test_no_cell_of_a_report_is_nan(name: str) -> None:
    cells = list(measure(group_rows(_SAMPLES[name]), ["robust"]))
    for cell in cells:
        numbers = (cell.estimate.value, cell.estimate.low, cell.estimate.high)
        assert all(number is None or math.isfinite(number) for number in numbers), cell
    report = make_report(["r"], cells, "robust")
    for form in ("md", "json", "csv"):
        assert "nan" not in FORMATS[form](report).lower()


@pytest.mark.parametrize("name", _SAMPLES)
def test_every_rate_has_an_interval_inside_its_range(name: str) -> None:
    rates = [
        cell.estimate for cell in measure(group_rows(_SAMPLES[name]), ["robust"]) if cell.estimate.metric == "accuracy"
    ]
    for rate in rates:
        assert rate.value is not None
        assert rate.low is not None
        assert rate.high is not None
        assert 0 <= rate.low <= rate.value <= rate.high <= 1
        assert rate.high > rate.low


_HERE = ComparedCondition("d", "en", "noise", 0.4, 0.0, 5, "related")


def _side(name: str, scores: Sequence[float], event: str | None = None, first: int = 0) -> Side:
    questions = [ComparedQuestion(f"{number}", f"{number}?", (("x",),), event) for number in range(first, 100)]
    return Side(Path(name), name, {_HERE: dict(zip(questions, scores, strict=False))})


# Scores of two models on the same questions, and the event that all questions share, if any.
_PAIRS: dict[str, tuple[list[float], list[float], str | None]] = {
    "one question": ([1.0], [0.0], None),
    "one question, no change": ([1.0], [1.0], None),
    "one cluster": ([1.0, 0.0, 1.0], [0.0, 0.0, 1.0], "one event"),
    "all right": ([1.0] * 20, [1.0] * 20, None),
    "all wrong": ([0.0] * 20, [0.0] * 20, None),
    "one all right, the other all wrong": ([1.0] * 20, [0.0] * 20, None),
}


@pytest.mark.parametrize("is_monitored", [False, True])
@pytest.mark.parametrize("name", _PAIRS)
def test_every_comparison_ranking_and_gate_has_finite_numbers(name: str, is_monitored: bool) -> None:
    *scores, event = _PAIRS[name]
    first, second = (
        replace(_side(model, found, event), is_monitored=is_monitored)
        for model, found in zip("ab", scores, strict=True)
    )
    (row,) = compare(first, second, 0.03)
    assert -1 <= row.difference.low <= row.difference.value <= row.difference.high <= 1
    assert row.difference.low < row.difference.high
    assert all(0 <= p <= 1 for p in (row.p, row.adjusted, row.decline_p))
    (gate,) = check_declines([row], 0.03)
    assert "nan" not in gate.message
    (ranking,) = rank_models([first, second])
    for model in ranking.models:
        assert 0 <= model.score.low <= model.score.value <= model.score.high <= 1
        assert model.score.low < model.score.high


@pytest.mark.parametrize("least", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name", _SAMPLES)
def test_every_minimum_rate_is_decided_or_called_inconclusive(name: str, least: float) -> None:
    for gate in check_floors(
        [parse_floor(f"noise.accuracy={least}")], list(measure(group_rows(_SAMPLES[name]), ["robust"]))
    ):
        assert gate.state in ("passed", "failed", "inconclusive")
        assert "nan" not in gate.message
        # A single question or event is not enough to fail a gate, except that one error refutes a minimum of 100 %.
        assert gate.state != "failed" or "one" not in name or least == 1


_REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "compare, no common question": (
        lambda: compare(_side("a", [1.0]), _side("b", [1.0], first=9), 0.03),
        UsageError,
        "no questions in common",
    ),
    "rank, no common question": (
        lambda: rank_models([_side("a", [1.0]), _side("b", [1.0], first=9)]),
        UsageError,
        "no questions in common",
    ),
    "rate, no trials": (lambda: clustered_wilson([], []), ValueError, "not a valid rate"),
    "difference, no questions": (lambda: paired_difference([]), ValueError, "no questions in common"),
    "agreement, weights of zero": (lambda: agreement([1, 0], [1, 0], [0, 1], [0, 0]), ValueError, "add up to 0"),
    "correction, labels on one question": (
        lambda: prediction_powered([1, 0], [1, math.nan], [0, 1]),
        ValueError,
        "at least two questions",
    ),
    "correction, probability of zero": (
        lambda: prediction_powered([1, 0, 1], [1, 0, math.nan], [0, 1, 2], [0.5, 0, 0.5]),
        ValueError,
        "must be above 0",
    ),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_what_cannot_be_computed_is_refused_by_name(name: str) -> None:
    compute, error, message = _REFUSED[name]
    with pytest.raises(error, match=message):
        compute()
