"""Reports on several runs: which results share a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ragbed
from ragbed.data.catalog import open_data
from ragbed.interop.exports.original_code import original_totals
from ragbed.runs.display_names import read_row_names
from ragbed.runs.execution import run as run_job
from ragbed.runs.store import open_store
from ragbed.schema import Case, Completion
from ragbed.scoring.code import flagged, label
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.settings import Settings
from tests.cli.typed import type_command
from tests.runs.harness import TalkingModel, ask_nobody, make_job

DATA = "ragbed-mini-en_base"


def _run(folder: Path, **options: Any) -> Path:
    chosen: dict[str, Any] = {"testbeds": "noise", "noise": 0, "limit": 4, "progress": False}
    return ragbed.run(options.pop("model", "scripted/oracle"), DATA, out=folder, **(chosen | options)).folder


@pytest.mark.parametrize("change", [{"seed": 3}, {"temperature": 0.7}, {"max_tokens": 20}])
def test_runs_of_a_model_with_different_settings_have_separate_rows(tmp_path: Path, change: dict[str, Any]) -> None:
    """The report showed one row with n = 8 for runs with different seeds, and refused the other runs as duplicates."""
    runs = [_run(tmp_path / "a"), _run(tmp_path / "b", **change)]
    table = next(table for table in ragbed.report(runs)["reports"][0].tables if table.name == "noise")
    assert [(row.key.model, row.counts.most) for row in table.rows] == [
        (f"{folder}:scripted/oracle", 4) for folder in runs
    ]
    ranked = [row["model"] for row in ragbed.rank(runs).records()]
    assert sorted(ranked) == [f"{folder}:scripted/oracle" for folder in runs]


def test_runs_of_a_model_with_the_same_settings_share_rows(tmp_path: Path) -> None:
    """Testbeds, noise ratios and the number of items select cases, so they do not separate rows."""
    runs = [
        _run(tmp_path / "a", noise=[0, 0.4]),
        _run(tmp_path / "b", noise=0.8, limit=3),
        _run(tmp_path / "c", testbeds="closed-book", noise=None),
    ]
    rows = [row for table in ragbed.report(runs)["reports"][0].tables for row in table.rows]
    assert {row.key.model for row in rows} == {"scripted/oracle"}
    noise = next(table for table in ragbed.report(runs)["reports"][0].tables if table.name == "noise")
    assert [column.heading for column in noise.columns] == ["0", "0.4", "0.8"]


def test_only_models_with_different_settings_are_named_by_their_runs(tmp_path: Path) -> None:
    runs = [
        _run(tmp_path / "a", model=["scripted/oracle", "scripted/refuser"]),
        _run(tmp_path / "b", seed=1),
        _run(tmp_path / "c", seed=1, noise=0.4),
    ]
    names = read_row_names(runs)
    assert [names.of(folder, "scripted/oracle") for folder in runs] == [
        f"{runs[0]}:scripted/oracle",
        f"{runs[1]}:scripted/oracle",
        f"{runs[1]}:scripted/oracle",
    ]
    assert names.of(runs[0], "scripted/refuser") == "scripted/refuser"


def test_stopping_conditions_diagnoses_and_cases_have_the_names_of_their_rows(tmp_path: Path) -> None:
    runs = [_run(tmp_path / name, model="scripted/refuser", seed=seed) for seed, name in enumerate("ab")]
    for folder in runs:
        ragbed.diagnose(folder, progress=False)
    page = tmp_path / "report.html"
    report = ragbed.report(runs, format="html", out=page)["reports"][0]
    expected = {f"{folder}:scripted/refuser" for folder in runs}
    assert {model for _, model, _ in report.errors} == expected
    assert all(name in page.read_text("utf-8") for name in expected)
    text = type_command("report", *map(str, runs)).out
    assert all(name in text for name in expected)


@pytest.mark.parametrize(
    ("name", "options", "comparable"),
    [
        ("zh_int", {}, True),
        ("mine", {}, True),
        ("mine", {"noise": 0, "limit": 40}, False),
        ("mine", {"profile": "robust", "noise": 0}, False),
    ],
)
def test_the_papers_rows_are_shown_for_complete_results_on_its_files_whatever_their_name(
    tmp_path: Path, rgb_dir: Path, name: str, options: dict[str, Any], comparable: bool
) -> None:
    chosen: dict[str, Any] = {"profile": "code-2023", "testbeds": "integration", "noise": [0, 0.4], "progress": False}
    data = {name: rgb_dir / "zh_int.json"}
    run = ragbed.run("scripted/oracle", data, out=tmp_path / "run", **(chosen | options))
    (table,) = (
        table for table in ragbed.report(run, scorer="code")["reports"][0].tables if table.name == "integration"
    )
    assert [row.comparable for row in table.rows if not row.printed] == [comparable]
    assert any(row.printed for row in table.rows) == comparable
    lines = ragbed.report(run, scorer="code", format="md")["text"].splitlines()
    own = next(number for number, line in enumerate(lines) if line.startswith("| scripted/oracle "))
    assert ("†" in lines[own]) == comparable
    assert ("| ChatGPT (paper) | " in lines[own + 1]) == comparable
    assert any("paper" in row["model"] for row in run.table("integration", "code")) == comparable


def test_another_file_with_the_name_of_a_published_one_is_not_comparable(tmp_path: Path, rgb_dir: Path) -> None:
    """40 items of another file named `zh_int` had the mark of comparable rows."""
    lines = (rgb_dir / "zh_int.json").read_text("utf-8").splitlines(keepends=True)[:40]
    (tmp_path / "zh_int.json").write_text("".join(lines), "utf-8")
    chosen: dict[str, Any] = {"profile": "code-2023", "testbeds": "integration", "noise": 0, "progress": False}
    run = ragbed.run("scripted/oracle", tmp_path / "zh_int.json", out=tmp_path / "run", **chosen)
    tables = ragbed.report(run, scorer="code")["reports"][0].tables
    assert not any(row.comparable or row.printed for table in tables for row in table.rows)


def test_the_totals_of_the_original_code_have_their_own_metrics(tmp_path: Path) -> None:
    """Rej was the share of refusals, without correct answers; CR was the share of correct answers, without refusals."""

    def answer(case: Case) -> Completion:
        right = " ".join(aliases[0] for aliases in case.answer)
        replies = ["Unknown.", right, "insufficient information", f"factual errors: {right}", "factual errors"]
        replies.append("factual errors, insufficient information")
        return Completion(outcome="ok", reply=replies[int(case.item.rpartition("-")[2]) % 6], finish="stop")

    cases = [
        case
        for testbed, name in {"rejection": DATA, "counterfactual": "ragbed-mini-en_fact"}.items()
        for dataset in open_data([name])
        for case in TESTBEDS[testbed].cases(dataset, Settings(profile="code-2023"))
        if case.feasible
    ]
    run_job(make_job(tmp_path / "run", 0, TalkingModel(answer), cases=lambda: cases), ask_nobody)
    run = ragbed.open_run(tmp_path / "run")
    labels: dict[str, list[tuple[int, ...]]] = {"counterfactual": [], "rejection": []}
    flags = []
    with open_store(run.folder, create=False) as store:
        for result in store.results():
            reply = result.completion.reply or ""
            labels[result.case.testbed].append(label(result.case, reply))
            flags += [flagged(result.case, reply)] if result.case.testbed == "counterfactual" else []
    found = {row["metric"]: row for row in run.metrics("code") if row["scope"] == "all"}
    assert found["all_rate"]["value"] == pytest.approx(original_totals(labels["rejection"], None, 1)["all_rate"])
    assert found["all_rate"]["value"] > found["refusal_recall"]["value"]
    totals = original_totals(labels["counterfactual"], flags, 0)
    assert found["correct_rate"]["value"] == pytest.approx(totals["correct_rate"])
    assert found["correct_rate"]["n"] == totals["fact_tt"]
    assert found["correct_rate"]["value"] > found["corrected_of_flagged"]["value"]
    assert not {row["metric"] for row in run.metrics("robust")} & {"all_rate", "correct_rate"}
