"""Samples that are too small or too uniform give a documented interval or a named refusal, and never NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from ragbed.analysis.comparison import ComparedCondition, ComparedQuestion, Side, compare
from ragbed.analysis.judging.labels import Label, read_labels
from ragbed.analysis.metrics import measure
from ragbed.analysis.metrics.trial import Scored
from ragbed.analysis.statistics.agreement import agreement
from ragbed.errors import DataError, UsageError
from ragbed.reporting.formats import FORMATS
from ragbed.reporting.tables import make_report

_NOISE = (0.0, 0.4, 0.8)


def _trials(questions: int, correct: Callable[[int, float], bool], event: str | None = None) -> list[Scored]:
    settings = [("noise", ratio) for ratio in _NOISE] + [("rejection", 1.0), ("closed-book", None)]
    return [
        Scored(
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
    cells = list(measure(_SAMPLES[name], ["robust"]))
    for cell in cells:
        numbers = (cell.estimate.value, cell.estimate.low, cell.estimate.high)
        assert all(number is None or math.isfinite(number) for number in numbers), cell
    report = make_report(["r"], cells, "robust")
    for form in ("md", "latex", "json", "csv"):
        assert "nan" not in FORMATS[form](report).lower()


@pytest.mark.parametrize("name", _SAMPLES)
def test_every_rate_has_an_interval_inside_its_range(name: str) -> None:
    rates = [cell.estimate for cell in measure(_SAMPLES[name], ["robust"]) if cell.estimate.metric == "accuracy"]
    for rate in rates:
        assert rate.value is not None
        assert rate.low is not None
        assert rate.high is not None
        assert 0 <= rate.low <= rate.value <= rate.high <= 1
        assert rate.high > rate.low


def test_one_cluster_has_a_wider_interval_than_as_many_questions() -> None:
    alone, together = (
        next(cell.estimate for cell in measure(trials, ["robust"]) if cell.estimate.metric == "accuracy")
        for trials in (_trials(9, lambda question, _: question % 2 == 0), _SAMPLES["one cluster"])
    )
    assert (together.high or 0) - (together.low or 0) > 1.3 * ((alone.high or 0) - (alone.low or 0))


def test_models_without_a_common_question_are_refused() -> None:
    here = ComparedCondition("d", "en", "noise", 0.4, 0.0, 5, "related")
    first, second = (
        Side(Path(name), "m", {here: {ComparedQuestion(name, f"{name}?", (("x",),)): 1.0}}) for name in ("a", "b")
    )
    with pytest.raises(UsageError, match="no questions in common"):
        compare(first, second, 0.03)


@pytest.mark.parametrize("probability", [0.0, -0.5, 1.5])
def test_a_label_with_an_impossible_weight_is_refused(tmp_path: Path, probability: float) -> None:
    path = tmp_path / "labels.jsonl"
    label = Label(criterion="flag", model="m", case="a", label=True, rater="ann", probability=probability)
    path.write_bytes(msgspec.json.encode(label) + b"\n")
    with pytest.raises(DataError, match="must be greater than 0 and at most 1"):
        read_labels(path)


@pytest.mark.parametrize("both", [0, 1])
@pytest.mark.parametrize("n", [1, 2, 200])
def test_equal_labels_have_an_agreement_and_no_kappa(both: int, n: int) -> None:
    found = agreement([both] * n, [both] * n, range(n))
    assert 0 < found.agreed.low < found.agreed.high == 1
    assert math.isnan(found.kappa.low)
