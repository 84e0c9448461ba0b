"""Reports of runs whose scores are known."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import msgspec
import pytest

import ragbed
from ragbed.analysis.locale import read_words
from ragbed.analysis.metrics.cells import Cell, CellKey
from ragbed.analysis.trials.columns import TrialGroup
from ragbed.reporting.formats import FORMATS
from ragbed.reporting.html import write_html
from ragbed.reporting.html.cases import pack_cases
from ragbed.reporting.numbers import show_number
from ragbed.reporting.tables import Report, TableColumn, make_report
from ragbed.runs.execution import run as run_job
from ragbed.runs.store import open_store
from ragbed.schema import Case, Completion, Estimate
from tests.cli.typed import type_command
from tests.items import write_untwinned
from tests.runs.harness import TalkingModel, agree, ask_nobody, make_case, make_job


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The oracle and the model that repeats its last document, on the bundled data."""
    folder = tmp_path_factory.mktemp("runs") / "known"
    data = folder.parent / "mini.jsonl"
    write_untwinned(data)
    words = ("run", "-m", "scripted/oracle", "-m", "scripted/last-doc", "-d", str(data), "--cache", "off")
    assert type_command(*words, "--out", str(folder)).code == 0
    return folder


def _estimate(metric: str, value: float | None = 0.5, n: int = 300, errors: int = 2) -> Estimate:
    counts = {"n": n, "asked": n, "questions": n, "errors": errors, "infeasible": errors // 2}
    return Estimate(metric=metric, value=value, low=0.44, high=0.56, **counts)


def _report(key: TrialGroup, *, scorer: str = "robust", k: int = 5, n: int = 300) -> Report:
    cells = [
        Cell("noise", key, scorer, "all", _estimate("accuracy", n=n), {"noise": 0.0, "k": k}),
        Cell("noise", key, scorer, "all", _estimate("accuracy", None, n=n), {"noise": 0.2, "k": k}),
        Cell("rejection", key, scorer, "all", _estimate("refusal_recall", n=n), {"noise": 1.0, "k": k}),
    ]
    return make_report(["runs/a"], cells, scorer)


def _paper_report(
    key: TrialGroup, file: str = "en", *, scorer: str = "code", k: int = 5, n: int = 300, errors: int = 0
) -> Report:
    """Return a report on cells of a dataset that is one of RGB's files."""
    cells = [
        Cell("noise", key, scorer, "all", _estimate("accuracy", 0.5, n, errors), {"noise": 0.0, "k": k}),
        Cell("rejection", key, scorer, "all", _estimate("refusal_recall", 0.1, n, errors), {"noise": 1.0, "k": k}),
        Cell("rejection", key, scorer, "all", _estimate("all_rate", 0.4, n, errors), {"noise": 1.0, "k": k}),
    ]
    return make_report(["runs/a"], cells, scorer, published={(key.model, key.data): file})


def test_a_row_has_known_values_with_their_intervals(run: Path) -> None:
    table = type_command("report", str(run)).out.partition("Noise robustness")[2].partition("accuracy curve")[0]
    oracle, last = (line for line in table.splitlines() if line.startswith("scripted/"))
    assert re.findall(r"([\d.]+) \[", oracle) == ["100.0"] * 5
    assert re.findall(r"([\d.]+) \[", last) == ["100.0", "80.0", "60.0", "40.0", "20.0"]


def test_json_has_every_cell_of_every_scorer_with_its_counts(run: Path) -> None:
    cells = json.loads(type_command("report", str(run), "-f", "json").out)
    assert {cell["scorer"] for cell in cells} == {"robust", "code", "paper"}
    (one,) = (
        cell
        for cell in cells
        if (cell["model"], cell["metric"], cell["noise"], cell["scorer"], cell["table"], cell["scope"])
        == ("scripted/last-doc", "accuracy", 0.8, "code", "noise", "all")
    )
    assert (one["value"], one["n"], one["asked"], one["errors"], one["infeasible"]) == (0.2, 50, 50, 0, 0)


def test_csv_has_the_same_cells(run: Path, tmp_path: Path) -> None:
    target = tmp_path / "cells.csv"
    assert type_command("report", str(run), "-f", "csv", "-o", str(target)).code == 0
    rows = list(csv.DictReader(target.read_text("utf-8").splitlines()))
    assert len(rows) == len(json.loads(type_command("report", str(run), "-f", "json").out))


def test_markdown_takes_nothing_in_a_name_for_markup() -> None:
    told = FORMATS["md"](_report(TrialGroup("a|b_c<script>\n[x](y)", "d", "en", "robust")))
    assert r"a\|b\_c\<script\> \[x\](y)" in told


_NOT_LIKE_THE_PAPER = [
    ("en_refine", "code-2023", "code", 5, 300, 0),
    ("en", "code-2024", "code", 5, 300, 0),
    ("en", "code-2023", "robust", 5, 300, 0),
    ("en", "code-2023", "code", 10, 300, 0),
    ("en", "code-2023", "code", 5, 40, 0),
    ("en", "code-2023", "code", 5, 300, 2),
]
"""File, profile, scorer, documents, questions and failed calls of rows that cannot be compared with the paper's."""


@pytest.mark.parametrize(("file", "profile", "scorer", "k", "n", "errors"), _NOT_LIKE_THE_PAPER)
def test_only_complete_results_on_the_papers_file_and_setting_are_comparable(
    file: str, profile: str, scorer: str, k: int, n: int, errors: int
) -> None:
    """A dataset named `en` was marked as comparable, whatever it contained: also 40 items of another file."""
    report = _paper_report(TrialGroup("m", "en", "en", profile), file, scorer=scorer, k=k, n=n, errors=errors)
    rows = [row for table in report.tables for row in table.rows]
    assert not any(row.comparable or row.printed for row in rows)
    assert "(paper)" not in FORMATS["md"](report)


def test_comparable_rows_show_the_totals_of_the_original_code_beside_the_papers_values() -> None:
    """The paper's Rej was in the column of the refusals, although it also counts correct answers."""
    report = _paper_report(TrialGroup("m", "mine", "en", "code-2023"))
    table = next(table for table in report.tables if table.name == "rejection")
    assert [column.heading for column in table.columns] == ["refused", "all_rate"]
    ours, *printed = table.rows
    assert (ours.comparable, [cell and cell.value for cell in ours.cells]) == (True, [0.1, 0.4])
    assert [cell and cell.value for cell in printed[0].cells] == [None, pytest.approx(0.2467)]
    assert {row.key.lang for row in printed} == {"en"}


def test_judged_metrics_have_a_table_with_the_number_of_undecided_cases() -> None:
    key, place = TrialGroup("m", "en", "en", "robust"), CellKey(noise=1.0, k=5)
    cells = [Cell("rejection", key, "judge j/1", "all", _estimate("refusal", 0.25), place)]
    unsure = msgspec.structs.replace(_estimate("refusal", 0.5), unsure=15)
    cells.append(Cell("rejection", key, "judge j/2", "all", unsure, place))
    report = make_report(["r"], cells, "robust")
    (table,) = report.tables
    assert [column.heading for column in table.columns] == ["refused"]
    told = FORMATS["md"](report)
    assert "## Metrics from a judge model or from human labels · lang en · documents 5" in told
    assert "| m | en, robust, rejection, noise=1, judge j/1 | 300 (2 failed) | 25.0 [44.0, 56.0] |" in told
    assert "| m | en, robust, rejection, noise=1, judge j/2, 15 undecided | 300 (2 failed) | 50.0" in told
    assert "(at most 55.0)" in told
    page = write_html(report, pack_cases([], []), "zh")
    assert "由裁判模型或人工标签得出的指标" in page
    assert "en, robust, 拒答, 噪声 1, 裁判模型 j/2, 15 个未能判定" in page


def test_a_difference_between_two_conditions_does_not_double_n() -> None:
    key = TrialGroup("m", "d", "en", "robust")
    rates = [("accuracy", 60), ("corpus_change", 120)]
    cells = [Cell("own-rag", key, "robust", "all", _estimate(metric, n=n), {"k": 5}) for metric, n in rates]
    (table,) = (one for one in make_report(["r"], cells, "robust").tables if one.name == "own-rag")
    assert table.rows[0].counts[:2] == (60, 60)


def test_n_is_a_range_if_the_rates_of_a_row_differ() -> None:
    key = TrialGroup("m", "d", "en", "robust")
    cells = [
        Cell("noise", key, "robust", "all", _estimate("accuracy", n=n, errors=errors), {"noise": noise, "k": 5})
        for noise, (n, errors) in {0.0: (1_060, 0), 0.8: (54, 3)}.items()
    ]
    report = make_report(["r"], cells, "robust")
    assert "| 54–1,060 (3 failed) |" in FORMATS["md"](report)
    page = write_html(report, pack_cases([], []))
    assert '54–1,060<span class="interval"> (3 failed)</span>' in page
    assert "A range of n means that the rates in a row have different n." in page
    assert "marks values based on fewer" not in page
    assert "† marks" not in page


def test_conditions_without_cases_do_not_count_towards_n() -> None:
    key = TrialGroup("m", "d", "en", "robust")
    none = msgspec.structs.replace(_estimate("accuracy", n=0), value=None, asked=0, infeasible=40)
    points = {0.0: _estimate("accuracy", n=40), 0.8: none}
    cells = [Cell("noise", key, "robust", "all", one, {"noise": noise, "k": 5}) for noise, one in points.items()]
    assert "| m | 40 (2 failed) |" in FORMATS["md"](make_report(["r"], cells, "robust"))


@pytest.mark.parametrize("metric", ["cost_per_case", "dollars_per_correct"])
@pytest.mark.parametrize(("dollars", "shown"), [(0.00006041, "0.0000604"), (0.0123, "0.0123"), (3.456, "3.46")])
def test_small_amounts_of_dollars_are_shown_in_full(metric: str, dollars: float, shown: str) -> None:
    assert show_number(dollars, TableColumn("$", metric, is_share=False)) == shown


def test_responses_that_cannot_be_scored_are_counted() -> None:
    key, place = TrialGroup("m", "d", "en", "robust"), CellKey(noise=0.0, k=5)
    some = msgspec.structs.replace(_estimate("accuracy", n=54), asked=60)
    for estimate, is_noted in ((some, True), (_estimate("accuracy", n=60), False)):
        text = FORMATS["md"](make_report(["r"], [Cell("noise", key, "robust", "all", estimate, place)], "robust"))
        assert ("6 responses are excluded from accuracy and its n" in text) == is_noted


def test_the_upper_bound_of_a_rate_is_in_the_language_of_the_page() -> None:
    key, place = TrialGroup("m", "d", "en", "robust"), CellKey(noise=0.0, k=5)
    unsure = msgspec.structs.replace(_estimate("accuracy", n=50), asked=50, unsure=5)
    report = make_report(["r"], [Cell("noise", key, "robust", "all", unsure, place)], "robust")
    assert "(at most 60.0)" in FORMATS["md"](report)
    page = write_html(report, pack_cases([], []))
    assert "(at most 60.0)" in page
    assert "（至多 60.0）" in page


def test_paired_differences_are_explained() -> None:
    key = TrialGroup("m", "d", "en", "robust")
    cells = [Cell("own-rag", key, "robust", "all", _estimate("corpus_change"), {"k": 5})]
    assert "computed before rounding" in FORMATS["md"](make_report(["r"], cells, "robust"))
    cells = [Cell("own-rag", key, "robust", "all", _estimate("accuracy"), {"k": 5})]
    assert "computed before rounding" not in FORMATS["md"](make_report(["r"], cells, "robust"))


def test_changes_are_in_percentage_points_by_noise_ratio() -> None:
    key = TrialGroup("m", "d", "en", "robust")
    cells = [Cell("noise", key, "robust", "all", _estimate("change", -0.45), {"noise": 0.8, "k": 5})]
    report = make_report(["r"], cells, "robust")
    text = FORMATS["md"](report)
    assert "| change at noise 0.8 (points) |" in text
    assert "| -45.0 [" in text
    page = write_html(report, pack_cases([], []))
    assert "change at noise 0.8 (points)" in page
    assert "噪声 0.8 时的变化（百分点）" in page


def test_other_conditions_and_shares_of_true_documents_have_their_own_tables() -> None:
    key = TrialGroup("m", "en", "en", "robust")
    cells = [Cell("noise", key, "robust", "all", _estimate("accuracy"), {"noise": 0.0, "k": 5})]
    cells += [
        Cell("noise", key, "robust", "all", _estimate("accuracy", 0.25), CellKey(noise=noise, k=k, arm=arm))
        for arm, noise, k in (("fixed", None, 2), ("fixed", None, 5), ("control", None, 5), ("random", 0.8, 5))
    ]
    for correct in (0.0, 0.4):
        place = CellKey(noise=0.0, k=5, correct=correct)
        cells.append(Cell("counterfactual", key, "robust", "all", _estimate("accuracy"), place))
    report = make_report(["r"], cells, "robust")
    rows = {
        table.name: [
            (row.tell_data(read_words("en")), row.docs, [one is not None for one in row.cells])
            for row in table.rows
            if not row.printed
        ]
        for table in report.tables
    }
    assert rows["noise"] == [("en, robust", 5, [True])]
    assert rows["noise arms"] == [("en, robust, distractors=random", 5, [True])]
    assert rows["noise length"] == [
        ("en, robust, distractors=fixed", None, [True, True]),
        ("en, robust, distractors=control", None, [False, True]),
    ]
    assert [(data, docs) for data, docs, _ in rows["counterfactual"]] == [("en, robust", 5)]
    assert [(data, docs) for data, docs, _ in rows["counterfactual true"]] == [("en, robust, true=0.4", 5)]
    assert "distractors=random" in FORMATS["md"](report)
    page = write_html(report, pack_cases([], []), "zh").partition('data-lang="zh"')[2]
    assert "en, robust, 随机干扰文档" in page
    assert "en, robust, 正确文档占比 0.4" in page
    assert "arm=" not in page


def test_few_cases_are_marked() -> None:
    assert "50.0 [44.0, 56.0]\\*" in FORMATS["md"](_report(TrialGroup("m", "d", "en", "robust"), n=29))
    assert "50.0 [44.0, 56.0] |" in FORMATS["md"](_report(TrialGroup("m", "d", "en", "robust"), n=30))


def test_infeasible_cases_are_in_the_counts(tmp_path: Path) -> None:
    words = ("run", "-m", "scripted/oracle", "-d", "ragbed-mini-en_base", "--cache", "off", "--num-docs", "8")
    type_command(*words, "--testbeds", "noise", "--noise", "0,0.5", "--out", str(tmp_path))
    cells = json.loads(type_command("report", str(tmp_path), "-f", "json").out)
    counts = {(cell["noise"], cell["asked"], cell["infeasible"]) for cell in cells if cell["metric"] == "accuracy"}
    assert counts == {(0.0, 0, 60), (0.5, 60, 0)}


def test_an_incomplete_run_is_named_first(tmp_path: Path) -> None:
    run_job(make_job(tmp_path, 2, TalkingModel(agree)), ask_nobody)
    assert not any("Incomplete" in type_command("report", str(tmp_path), "-f", form).out for form in ("text", "md"))
    with open_store(tmp_path, create=True) as store:
        store.add_missing([make_case(number) for number in range(3)])
    note = f"Incomplete: {tmp_path.name} has 2 of 3 results. To complete the run, rerun the command that created it."
    assert type_command("report", str(tmp_path)).out.startswith(f"{note}\n\n")
    lines = type_command("report", str(tmp_path), "-f", "md").out.splitlines()
    assert lines[4].replace("\\", "") == f"**{note}**"
    type_command("report", str(tmp_path), "-f", "html", "-o", str(tmp_path / "report.html"))
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.index(f"<strong>{note}") < page.index("<nav")


def test_the_same_calls_are_not_counted_twice(run: Path) -> None:
    done = type_command("report", str(run), str(run))
    assert (done.code, "Use only one of the two runs" in done.err) == (2, True)


def test_runs_with_rotations_are_reported_together(tmp_path: Path) -> None:
    for script in ("first-doc", "last-doc"):
        words = ("run", "-m", f"scripted/{script}", "-d", "ragbed-mini-en_base", "--positions", "all", "--limit", "3")
        assert type_command(*words, "--cache", "off", "--out", str(tmp_path / script)).code == 0
    assert type_command("report", str(tmp_path / "first-doc"), str(tmp_path / "last-doc")).code == 0


def test_a_model_that_never_replied_is_in_the_report(tmp_path: Path) -> None:
    silent = TalkingModel(lambda _: Completion(outcome="error", error="timeout: 60 s"), "test/silent")
    run_job(make_job(tmp_path / "run", 4, TalkingModel(agree), silent), ask_nobody)
    told = type_command("report", str(tmp_path / "run")).out
    summary, row = (line for line in told.splitlines() if line.startswith("test/silent"))
    assert summary == "test/silent: No call returned a response, so there is nothing to score."
    assert "4 (4 failed)" in row
    assert re.findall(r"([\d.]+) \[", row) == ["0.0"]
    cells = list(csv.DictReader(type_command("report", str(tmp_path / "run"), "-f", "csv").out.splitlines()))
    lost = [cell for cell in cells if cell["model"] == "test/silent" and cell["metric"] == "accuracy"]
    assert [(cell["scorer"], cell["value"], cell["n"], cell["asked"], cell["errors"]) for cell in lost] == [
        (scorer, "0.0", "4", "4", "4") for scorer in ("robust", "code", "paper")
    ]


def test_the_papers_values_stand_below_comparable_rows() -> None:
    report = _paper_report(TrialGroup("m", "zh", "zh", "code-2023"), "zh")
    for text in (FORMATS["md"](report), write_html(report, pack_cases([], []))):
        assert "BELLE-7B-2M (paper)" in text
        assert "the paper probably excluded failed calls from the denominator" in text
    table = next(table for table in report.tables if table.name == "noise")
    ours, *printed = table.rows
    assert not ours.printed
    chatgpt = printed[0]
    assert (chatgpt.key.model, chatgpt.key.lang, chatgpt.counts.least) == ("ChatGPT (paper)", "zh", 300)
    assert [one.value for one in chatgpt.cells if one is not None] == pytest.approx([0.9567])
    assert {row.key.lang for row in printed} == {"zh"}


def test_filtered_and_truncated_responses_are_not_reported_as_failed(tmp_path: Path) -> None:
    outcomes = ("ok", "truncated", "filtered", "filtered", "ok")

    def say(case: Case) -> Completion:
        return Completion(outcome=outcomes[int(case.item)], reply=f"gold-{case.item}")  # type: ignore[arg-type]

    run_job(make_job(tmp_path / "run", 5, TalkingModel(say)), ask_nobody)
    assert "5 (1 truncated, 2 filtered)" in type_command("report", str(tmp_path / "run")).out
    cells = msgspec.json.decode(type_command("report", str(tmp_path / "run"), "-f", "json").out)
    (cell,) = (one for one in cells if (one["metric"], one["scorer"], one["noise"]) == ("accuracy", "robust", 0.0))
    assert (cell["n"], cell["value"]) == (5, 0.4)
    assert [cell[name] for name in ("errors", "truncated", "filtered")] == [0, 1, 2]
    (row,) = ragbed.open_run(tmp_path / "run").table("noise")
    assert [row[name] for name in ("errors", "truncated", "filtered")] == [0, 1, 2]
    type_command("report", str(tmp_path), "-f", "site", "-o", str(tmp_path / "site"))
    page = (tmp_path / "site" / "index.html").read_text("utf-8")
    for truncated, filtered in (("1 truncated", "2 filtered"), ("1 个被截断", "2 个被过滤")):
        assert f'5<span class="interval"> ({truncated}, {filtered})</span>' in page
