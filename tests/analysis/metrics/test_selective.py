"""Calibrated and overconfident models reach the values of selective prediction that follow from their answers."""

from __future__ import annotations

from pathlib import Path

import pytest

import ragbed
from ragbed.analysis.locale import read_words
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.run_cells import read_report_cells
from ragbed.errors import UsageError
from ragbed.reporting.figures import make_figures
from ragbed.reporting.summary import summarise
from ragbed.reporting.tables import make_report
from ragbed.schema import Case
from ragbed.testbeds.prompts import REFUSAL

_WRONG = {"en": "Zubrowka Vale", "zh": "祖布罗夫卡谷"}
_OTHERS = {"en": ("Quixley Ford", "Marrow Pike"), "zh": ("基克斯利渡口", "马罗峰")}
_LABEL = {"en": "Confidence: {}%", "zh": "置信度：{}%"}


class ConfidentModel:
    """Answers every second pair of questions with certainty; of the others, it answers every second one correctly.

    It refuses all cases without evidence. `sure` is the confidence that it reports for uncertain answers.
    """

    concurrency, advice = 8, ""

    def __init__(self, name: str, sure: float, *, states: bool = False) -> None:
        self.name, self._sure, self._states = f"confident/{name}", sure, states

    async def complete(self, case: Case, repeat: int = 0) -> ragbed.Completion:
        number = int(case.item.rpartition("-")[2])
        is_certain, is_right = number % 4 < 2, number % 4 < 3
        answer = case.answer[0][0] if is_right else _WRONG[case.lang]
        if case.expect == "refuse":
            answer = REFUSAL[case.lang]
        elif not is_certain and repeat:
            answer = _OTHERS[case.lang][repeat - 1]
        confidence = 1.0 if is_certain else self._sure
        if self._states:
            stated = _LABEL[case.lang].format(round(100 * confidence))
            return ragbed.Completion(outcome="ok", reply=f"{answer}\n{stated}")
        return ragbed.Completion(outcome="ok", reply=answer, confidence=confidence)

    def request(self, case: Case) -> bytes:
        return case.case.encode()

    async def identity(self) -> str:
        return self.name

    async def close(self) -> None:
        pass


def _cells(model: object, lang: str, folder: Path, **options: object) -> list[Cell]:
    spec = {"testbeds": "noise,rejection", "noise": [0, 1], "limit": 8, "out": folder / "run"} | options
    ragbed.run(model, f"ragbed-mini-{lang}_base", **spec)  # type: ignore[arg-type]
    return [cell for cell in read_report_cells([folder / "run"], ["robust"]) if cell.scorer == "robust"]


def _values(cells: list[Cell], profile: str = "robust") -> dict[str, float | None]:
    return {
        cell.estimate.metric: cell.estimate.value
        for cell in cells
        if cell.table == "selective" and cell.key.profile == profile and "slot" not in cell.place
    }


# Half of the cases are refused. Half of the answers are certain and right, and half of the others are right.
CALIBRATED = {"coverage_at_5": 0.25, "threshold_at_5": 1.0, "aurc": 0.0625 + 0.0625, "brier": 0.125, "no_confidence": 0}
OVERCONFIDENT = {"coverage_at_5": 0.0, "threshold_at_5": None, "aurc": 0.25, "brier": 0.25, "no_confidence": 0}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(("name", "sure", "expected"), [("calibrated", 0.5, CALIBRATED), ("over", 1.0, OVERCONFIDENT)])
def test_reported_and_stated_confidence_reach_the_analytic_values(
    name: str, sure: float, expected: dict[str, float | None], lang: str, tmp_path: Path
) -> None:
    assert _values(_cells(ConfidentModel(name, sure), lang, tmp_path / "a")) == pytest.approx(expected)
    stating = _cells(ConfidentModel(f"stating-{name}", sure, states=True), lang, tmp_path / "b", confidence="stated")
    assert _values(stating, "robust+stated") == pytest.approx(expected)
    assert _values(stating) == {}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_agreement_is_the_share_of_other_responses_with_the_same_answer(lang: str, tmp_path: Path) -> None:
    cells = _cells(ConfidentModel("varied", 0.5), lang, tmp_path, confidence="agreement", repeats=3)
    found = _values(cells)
    # Certain questions have three equal, correct answers. The others have three different ones, of which one in six is
    # correct.
    assert found["coverage_at_5"] == pytest.approx(0.25)
    assert found["threshold_at_5"] == 1.0
    assert found["brier"] == pytest.approx(1 / 6 / 2)
    assert found["aurc"] == pytest.approx(5 / 12 / 2)


def test_the_report_shows_the_curves_and_recommends_a_threshold(tmp_path: Path) -> None:
    cells = _cells(ConfidentModel("calibrated", 0.5), "en", tmp_path)
    words = read_words("en")
    names = [chart.name.partition("-")[0] for chart in make_figures(cells, "robust", words)]
    assert {"coverage", "reliability"} <= set(names)
    assert "selective" in {table.name for table in make_report(["run"], cells, "robust").tables}
    (paragraph,) = summarise(cells, "robust", words)
    assert "confidence is at least 1.00, it answers 25% of all cases" in paragraph.text
    bins = [cell for cell in cells if cell.estimate.metric == "accuracy_by_confidence"]
    assert [(cell.place.get("slot"), cell.estimate.value) for cell in bins] == [(5, 0.5), (9, 1.0)]


def test_an_unusable_confidence_is_counted_with_its_reason(tmp_path: Path) -> None:
    run = ragbed.run(
        lambda _: "Paris\nConfidence: 110%", "ragbed-mini-en_base", testbeds="noise", noise=0, limit=3,
        confidence="stated", out=tmp_path / "run",
    )  # fmt: skip
    stated = [trial["scores"] for trial in run.trials() if trial["profile"] == "robust+stated"]
    assert [(scores["no_confidence"], scores["confidence_problem"]) for scores in stated] == [
        (True, "out-of-range")
    ] * 3
    assert _values(read_report_cells([tmp_path / "run"], ["robust"]), "robust+stated") == {"no_confidence": 1.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": "agreement"}, "repeats=1"),
        ({"confidence": "logprobs"}, "scripted/oracle does not return log-probabilities"),
    ],
)
def test_a_confidence_that_cannot_be_measured_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ragbed.plan_run(ragbed.RunSpec(model="scripted/oracle", data="ragbed-mini-en_base", **options))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="stated"):
        ragbed.RunSpec(model="scripted/oracle", data="ragbed-mini-en_base", confidence="state")  # type: ignore[arg-type]
