"""The figures of a run whose scores are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from ragbed.analysis.diagnosis.summary import read_diagnoses
from ragbed.analysis.locale import read_words
from ragbed.analysis.metrics import measure
from ragbed.analysis.run_cells import read_report_cells
from ragbed.analysis.trials.columns import SCORERS, Trial, TrialGroup, TrialOutcome, group_rows
from ragbed.errors import DataError
from ragbed.reporting.figures import draw_error_types, make_figures
from ragbed.schema import Completion
from ragbed.scoring.value import Value
from tests.cli.typed import type_command
from tests.runs.harness import make_case
from tests.ui.viewer.runs import said, write_run

_CASE = "d/1/noise@noise=0,k=5,arm=related,profile=robust,seed=0"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model that repeats its last document and the one that always believes, at every slot."""
    folder = tmp_path_factory.mktemp("runs") / "known"
    words = ["run", "-m", "scripted/last-doc", "-m", "scripted/gullible", "--positions", "all", "--limit", "6"]
    for kind in ("base", "int", "fact"):
        words += ["-d", f"ragbed-mini-en_{kind}"]
    assert type_command(*words, "--cache", "off", "--out", str(folder)).code == 0
    return folder


def test_every_figure_that_the_cells_allow_is_drawn(run: Path) -> None:
    charts = make_figures(read_report_cells([run], SCORERS), "robust", read_words("zh"))
    kinds = [chart.name.partition("-")[0] for chart in charts]
    assert kinds == ["noise", "abstention", "integration", "counterfactual", "position"]
    assert len({chart.name for chart in charts}) == len(charts)
    for chart in charts:
        ElementTree.fromstring(chart.as_file(follows_theme=True))


def test_figures_have_known_values(run: Path) -> None:
    charts = {
        chart.name.partition("-")[0]: chart
        for chart in make_figures(read_report_cells([run], ("robust",)), "robust", read_words("en"))
    }
    ratio, *slots = next(row for row in charts["position"].rows if row[0] == "scripted/last-doc, noise 0.8")
    assert slots == ["0.0", "0.0", "0.0", "0.0", "100.0"], ratio
    believes = next(row for row in charts["counterfactual"].rows if row[0] == "scripted/gullible")
    assert believes[charts["counterfactual"].columns.index("misled")] == "100.0"
    for row in charts["abstention"].rows:
        assert sum(map(float, row[1:-1])) == pytest.approx(100, abs=0.3)


def test_figures_of_one_dataset_in_two_languages_have_titles_of_their_own(tmp_path: Path) -> None:
    words = ("run", "-m", "scripted/oracle", "-d", "figure1", "--num-docs", "2", "--cache", "off")
    assert type_command(*words, "--out", str(tmp_path / "run")).code == 0
    cells = read_report_cells([tmp_path / "run"], ("robust",))
    titles = [chart.title for chart in make_figures(cells, "robust", read_words("en"))]
    assert len(set(titles)) == len(titles)
    assert "Abstention: figure1 in Chinese, 2 documents, profile robust" in titles


def test_a_curve_without_two_points_is_not_drawn(tmp_path: Path) -> None:
    """One noise ratio is no curve, and a mix that no item can supply is refused."""
    conditions = {"one": ("--noise", "0", "--num-docs", "5"), "none": ("--noise", "0,0.5", "--num-docs", "400")}
    for name, more in conditions.items():
        words = ("run", "-m", "scripted/oracle", "-d", "ragbed-mini-en_base", "--testbeds", "noise", "--limit", "2")
        done = type_command(*words, *more, "--cache", "off", "--out", str(tmp_path / name))
        assert done.code == (0 if name == "one" else 2), done.err
    assert make_figures(read_report_cells([tmp_path / "one"], ("robust",)), "robust", read_words("en")) == []


def test_figures_are_written_into_a_folder(run: Path, tmp_path: Path) -> None:
    done = type_command("report", str(run), "-f", "svg", "-o", str(tmp_path / "figures"), "--locale", "zh")
    assert done.code == 0
    assert "8 figures" in done.err  # three of them show the types of errors
    assert len(list((tmp_path / "figures").glob("*.svg"))) == 8
    assert "--locale" not in done.err


def test_a_locale_that_a_text_report_does_not_use_is_reported(run: Path) -> None:
    done = type_command("report", str(run), "--locale", "zh")
    assert (done.code, "--locale applies only to HTML reports and figures." in done.err) == (0, True)


def test_figures_without_a_folder_are_a_usage_error(run: Path) -> None:
    done = type_command("report", str(run), "-f", "png")
    assert (done.code, "output folder" in done.err) == (2, True)


def _diagnose(folder: Path, *lines: str) -> None:
    (folder / "diagnose").mkdir(parents=True)
    (folder / "diagnose" / "diagnosis.jsonl").write_text("".join(line + "\n" for line in lines), "utf-8")


_LINE = f'{{"case": "{_CASE}", "model": "m", "repeat": 0, "lang": "en", "types": %s, "evidence": [], "source": null}}'


def test_diagnoses_are_read_beside_the_run_and_drawn_with_the_unclassified(tmp_path: Path) -> None:
    _diagnose(tmp_path, *(_LINE % types for types in ('["E2", "E3"]', '["E2"]', "[]", "[]")))
    (chart,) = draw_error_types(read_diagnoses([tmp_path]), read_words("en"))
    assert [row[0] for row in chart.rows] == ["E2 Evidence uncertainty", "E3 Concept confusion", "Unclassified"]
    assert chart.columns == ["cause", "m (n = 4)"]
    assert [row[1] for row in chart.rows] == ["50.0", "25.0", "50.0"]


@pytest.mark.parametrize("line", ["{}", '{"case": "x", "model": "m", "types": []}', "nonsense"])
def test_a_line_that_is_not_a_diagnosis_is_reported(tmp_path: Path, line: str) -> None:
    _diagnose(tmp_path, line)
    with pytest.raises(DataError, match=r"diagnosis\.jsonl:1: the line is not a valid diagnosis"):
        read_diagnoses([tmp_path])


def _trial(
    item: str, testbed: str, noise: float | None, outcome: TrialOutcome = "ok", *, correct: bool = False
) -> Trial:
    scores: dict[str, Value] = {"correct": correct, "refused": False, "flagged": False}
    group = TrialGroup("m", "d", "en", "robust")._asdict()
    told = scores if outcome == "ok" else None
    k = 0 if noise is None else 5
    return Trial(item=item, testbed=testbed, noise=noise, k=k, outcome=outcome, scores=told, **group)


def _rows(trials: list[Trial], kind: str) -> list[Sequence[str]]:
    charts = make_figures(list(measure(group_rows(trials), ["robust"])), "robust", read_words("en"))
    return [row for chart in charts if chart.name.startswith(kind) for row in chart.rows]


def test_conditions_without_results_are_not_drawn() -> None:
    trials = [_trial(item, "rejection", 1.0, "infeasible") for item in "ab"]
    trials += [_trial(item, "noise", 0.0, "infeasible") for item in "ab"]
    assert _rows([*trials, _trial("a", "closed-book", None)], "abstention") == []
    trials += [_trial(item, "noise", 0.2, correct=item == "a") for item in "ab"]
    assert _rows(trials, "abstention") == [["m, answer in the documents, noise 0.2", "0.0", "50.0", "50.0", "0.0", "2"]]


def test_filtered_calls_are_drawn_as_cases_without_a_complete_response(tmp_path: Path) -> None:
    rejection: dict[str, Any] = {"testbed": "rejection", "noise": 1.0, "noise_real": 1.0, "expect": "refuse"}
    cases = [replace(make_case(number), **rejection) for number in range(4)]
    write_run(tmp_path / "run", cases, {"made/up": [Completion(outcome="filtered"), *[said("no idea")] * 3]})
    (chart,) = make_figures(read_report_cells([tmp_path / "run"], ["robust"]), "robust", read_words("en"))
    (row,) = chart.rows
    assert row[-2] == "25.0"
