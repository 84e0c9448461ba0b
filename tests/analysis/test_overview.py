"""The overview table of a run: the same numbers from every process, command and function."""

from __future__ import annotations

import json
from contextlib import closing
from csv import DictReader
from pathlib import Path
from shutil import copyfile
from sqlite3 import connect
from typing import Any

import pytest

from ragbed import open_run
from ragbed.analysis.overview import ConditionRow, LiveTable, tabulate, tabulate_run
from ragbed.analysis.trials.table import TrialTable
from ragbed.errors import DataError
from ragbed.runs.circuit_breaker import CircuitOpen
from ragbed.runs.condition import condition_of
from ragbed.runs.execution import run
from ragbed.schema import Case, Completion
from ragbed.scoring import score
from ragbed.scoring.version import SCORER_VERSION
from tests.cli.typed import type_command
from tests.runs.harness import TalkingModel, agree, ask_nobody, make_case, make_job
from tests.ui.viewer.served import serve_runs


def _answer(case: Case) -> Completion:
    if int(case.item) % 7 == 0:
        return Completion(outcome="error", error="timeout: no reply within 3 s")
    return Completion(outcome="ok", reply=f"It is gold-{int(case.item) % 10}.", finish="stop")


class _Scoring(LiveTable):
    """Notes when results are scored."""

    scored = 0

    def go_on(self) -> bool:
        has_worked = super().go_on()
        self.scored += has_worked
        return has_worked


def test_scoring_during_the_run_gives_the_same_table_as_afterwards(tmp_path: Path) -> None:
    live = _Scoring(tmp_path / "run")
    live.load()  # on a busy machine, the imports may take longer than the run
    run(make_job(tmp_path / "run", 60, TalkingModel(_answer, takes_s=0.03), follower=live), ask_nobody)
    assert live.scored
    rows = tabulate_run(tmp_path / "run")
    (tmp_path / "run" / "scores.sqlite").unlink()
    assert tabulate_run(tmp_path / "run") == rows


def test_results_of_earlier_sessions_are_included(tmp_path: Path) -> None:
    first, second = TalkingModel(agree), TalkingModel(agree, "test/second")
    run(make_job(tmp_path / "run", 60, first), ask_nobody)
    run(make_job(tmp_path / "run", 60, first, second, follower=LiveTable(tmp_path / "run")), ask_nobody)
    assert (len(first.asked), len(second.asked)) == (60, 60)
    assert [(row.asked, row.rate("correct")) for row in tabulate_run(tmp_path / "run")] == [(60, 1.0)] * 2


def test_the_database_file_is_complete_after_scoring_during_the_run(tmp_path: Path) -> None:
    live = LiveTable(tmp_path / "run")
    run(make_job(tmp_path / "run", 60, TalkingModel(agree, takes_s=0.03), follower=live), ask_nobody)
    (tmp_path / "copy").mkdir()
    copyfile(tmp_path / "run" / "run.sqlite", tmp_path / "copy" / "run.sqlite")
    assert tabulate_run(tmp_path / "copy") == tabulate_run(tmp_path / "run")


def test_a_retried_error_replaces_the_failed_trial(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 60, TalkingModel(_answer)), ask_nobody)
    (row,) = tabulate_run(tmp_path / "run")
    assert (row.asked, row.error) == (60, 9)
    run(make_job(tmp_path / "run", 60, TalkingModel(agree)), ask_nobody)
    (row,) = tabulate_run(tmp_path / "run")
    assert (row.asked, row.error) == (60, 0)


def test_an_error_while_scoring_is_raised_after_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> dict[str, Any]:
        raise ValueError("broken scorer")

    monkeypatch.setattr("ragbed.analysis.trials.table.score_outcome", fail)
    run(make_job(tmp_path / "run", 60, TalkingModel(agree), follower=LiveTable(tmp_path / "run")), ask_nobody)
    with pytest.raises(ValueError, match="broken scorer"):
        tabulate_run(tmp_path / "run")


def test_an_unfinished_run_shows_the_number_of_planned_trials(tmp_path: Path) -> None:
    lost = TalkingModel(lambda _: Completion(outcome="error", error="auth: no"), "test/lost")
    with pytest.raises(CircuitOpen):
        run(make_job(tmp_path, 100, lost, TalkingModel(agree, "test/well")), ask_nobody)
    cells = {cell.condition.model: cell for cell in tabulate_run(tmp_path)}
    assert (cells["test/well"].asked, cells["test/well"].planned) == (100, 100)
    assert 3 <= cells["test/lost"].asked < cells["test/lost"].planned == 100


def test_a_condition_without_responses_has_no_rates() -> None:
    row = ConditionRow(condition_of("test/m", make_case(1)), planned=3).as_json()
    assert set(row["rates"].values()) == {None}  # type: ignore[attr-defined]  # a dictionary


_REPORTED = {
    "noise": ("noise", "accuracy", "correct"),
    "rejection": ("rejection", "refusal_recall", "refused"),
    "integration": ("integration", "accuracy", "correct"),
    "counterfactual": ("counterfactual", "error_detection", "flagged"),
    "closed-book": ("closed-book", "accuracy", "correct"),
}


def test_all_commands_and_python_show_the_same_numbers(tmp_path: Path) -> None:
    data = [word for kind in ("base", "int", "fact") for word in ("-d", f"ragbed-mini-en_{kind}")]
    models = ("-m", "scripted/last-doc", "-m", "scripted/gullible")
    done = type_command(
        "run", *models, *data, "--limit", "12", "--cache", "off", "--json", "--out", str(tmp_path / "run")
    )
    rows = json.loads(done.out)["cells"]
    for scorer in ("robust", "code", "paper"):
        python = [dict(cell) for cell in open_run(tmp_path / "run").metrics(scorer)]
        reported = json.loads(type_command("report", str(tmp_path / "run"), "-f", "json").out)
        assert [cell for cell in reported if cell["scorer"] == scorer] == python
        for row in rows:
            _compare(row, python, scorer)
    printed = type_command("report", str(tmp_path / "run")).out
    accuracy = next(row for row in rows if row["testbed"] == "noise")["rates"]["correct"]
    assert f" {100 * accuracy:.1f} [" in done.err
    assert f" {100 * accuracy:.1f} [" in printed
    for model in json.loads(type_command("status", str(tmp_path / "run"), "--json").out)["models"]:
        for name in ("planned", "asked", "ok", "truncated", "filtered", "error"):
            assert model[name] == sum(row[name] for row in rows if row["model"] == model["model"])


def _compare(row: dict[str, Any], cells: list[dict[str, Any]], scorer: str) -> None:
    """Check a row of the overview against the cell of the report for the same condition."""
    table, metric, score = _REPORTED[row["testbed"]]
    place = {name: row[name] for name in ("model", "data", "lang", "profile")} | {"table": table, "metric": metric}
    if row["testbed"] != "closed-book":
        place |= {"noise": row["noise"], "k": row["k"]}
    (cell,) = (cell for cell in cells if cell["scope"] == "all" and place.items() <= cell.items())
    name = score if scorer == "robust" else f"{scorer}.{score}"
    assert row["rates"][name] == round(cell["value"], 6)
    assert row["intervals"][name] == [cell["low"], cell["high"]]
    assert (row["asked"], row["error"] + row["filtered"]) == (cell["asked"], cell["errors"])


def test_a_report_keeps_the_verdicts_of_an_earlier_scorer_unless_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_command(
        "run", "-m", "scripted/oracle", "-d", "ragbed-mini-en_base", "--testbeds", "noise", "--noise", "0", "--limit",
        "5", "--cache", "off", "-o", str(tmp_path),
    )  # fmt: skip

    def wrong(case: Case, reply: str) -> dict[str, Any]:
        return {**score(case, reply), "correct": case.item.endswith("0"), "verdict": "wrong"}

    with monkeypatch.context() as changed:
        for module in ("ragbed.analysis.trials.table", "ragbed.api.reports"):
            changed.setattr(f"{module}.SCORER_VERSION", 99, raising=False)
        changed.setattr("ragbed.scoring.version.SCORER_VERSION", 99)
        changed.setattr("ragbed.analysis.trials.table.open_scorers", lambda _: wrong)
        kept = type_command("report", str(tmp_path))
        assert f"was scored with version {SCORER_VERSION} of the scorer, and version 99 is installed" in kept.err
        assert "100.0 [" in kept.out
        anew = type_command("report", str(tmp_path), "--rescore")
        assert f"scored with version 99 (was {SCORER_VERSION}): 5 of 5 verdicts changed." in anew.err
        assert "100.0 [" not in anew.out.partition("Error types")[0]


def test_a_damaged_or_deleted_table_is_made_again(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 30, TalkingModel(_answer)), ask_nobody)
    rows, path = tabulate_run(tmp_path / "run"), tmp_path / "run" / "scores.sqlite"
    content = path.read_bytes()
    for damaged in (b"", content[:5_000], content.replace(b'"correct":false', b'"correct":true ')):
        path.write_bytes(damaged)
        assert tabulate_run(tmp_path / "run") == rows
    path.unlink()
    assert tabulate_run(tmp_path / "run") == rows


def test_merged_shards_archives_exports_and_the_viewer_show_the_same_numbers(tmp_path: Path) -> None:
    def evaluate(name: str, *options: str) -> None:
        plan = "-m scripted/last-doc -d ragbed-mini-en_base --testbeds noise,rejection --limit 9"
        type_command("run", *plan.split(), *options, "--cache", "off", "-o", str(tmp_path / name))

    def metrics(name: str) -> list[dict[str, Any]]:
        return [dict(cell) for cell in open_run(tmp_path / name).metrics() if cell["metric"] != "seconds"]

    evaluate("whole")
    for shard in ("1/2", "2/2"):
        evaluate(f"shard{shard[0]}", "--shard", shard)
    type_command("merge", str(tmp_path / "shard1"), str(tmp_path / "shard2"), "-o", str(tmp_path / "merged"))
    type_command("export", str(tmp_path / "whole"), "--to", "archive", "-o", str(tmp_path / "whole.zip"))
    type_command("import", str(tmp_path / "whole.zip"), "--from", "archive", "-o", str(tmp_path / "imported"))
    assert metrics("merged") == metrics("imported") == metrics("whole")
    whole = open_run(tmp_path / "whole")
    means = whole.to_pandas().query("testbed == 'noise'").groupby("noise")["score.correct"].mean().to_dict()
    accuracy = {
        cell["noise"]: cell["value"]
        for cell in metrics("whole")
        if cell["metric"] == "accuracy" and cell["scope"] == "all"
    }
    assert means == pytest.approx(accuracy)
    tabulated = {row.condition.noise: row.rate("correct") for row in tabulate_run(tmp_path / "whole")}  # by `run`
    assert {noise: tabulated[noise] for noise in accuracy} == pytest.approx(accuracy)
    cells = json.loads(type_command("report", str(tmp_path / "whole"), "-f", "json").out)
    robust = [cell for cell in cells if cell["scorer"] == "robust" and cell["metric"] != "seconds"]
    assert robust == metrics("whole")
    written = {
        float(row["noise"]): float(row["value"])
        for row in DictReader(type_command("report", str(tmp_path / "whole"), "-f", "csv").out.splitlines())
        if (row["metric"], row["scorer"], row["scope"]) == ("accuracy", "robust", "all")
    }
    assert written == pytest.approx(accuracy)
    (row,) = whole.table("noise")
    assert {float(name): row[name] for name in row if name[:1].isdigit()} == pytest.approx(accuracy)
    pages = [
        type_command("report", str(tmp_path / "whole"), "-f", form, "-o", str(tmp_path / f"r.{form}"))
        for form in ("md", "html")
    ]
    assert [page.code for page in pages] == [0, 0]
    with serve_runs(tmp_path / "whole") as served:
        served.wait_for(len(whole.to_pandas()))
        shown = {
            row["noise"]: row["rates"]["correct"][0]
            for row in served.get("/api/overview")["rows"]
            if row["testbed"] == "noise"
        }
    assert shown == pytest.approx(accuracy)
    for form in ("md", "html"):
        text = (tmp_path / f"r.{form}").read_text("utf-8")
        assert all(f"{100 * value:.1f}" in text for value in accuracy.values())


def test_a_run_that_was_restored_from_a_backup_is_scored_again(tmp_path: Path) -> None:
    """The numbers of the results are used again, so that other responses used to get the scores of lost ones."""
    run(make_job(tmp_path / "run", 20, TalkingModel(agree)), ask_nobody)
    backup = (tmp_path / "run" / "run.sqlite").read_bytes()
    wrong = TalkingModel(lambda _: Completion(outcome="ok", reply="no idea", finish="stop"), "test/wrong")
    run(make_job(tmp_path / "run", 20, wrong), ask_nobody)
    assert {row.condition.model: row.rate("correct") for row in tabulate_run(tmp_path / "run")} == {
        "test/talking": 1.0, "test/wrong": 0.0,
    }  # fmt: skip
    (tmp_path / "run" / "run.sqlite").write_bytes(backup)
    run(make_job(tmp_path / "run", 20, TalkingModel(agree, "test/other")), ask_nobody)
    assert {row.condition.model: row.rate("correct") for row in tabulate_run(tmp_path / "run")} == {
        "test/talking": 1.0, "test/other": 1.0,
    }  # fmt: skip


def test_missing_results_are_reported(tmp_path: Path) -> None:
    run(make_job(tmp_path, 20, TalkingModel(agree)), ask_nobody)
    with closing(connect(tmp_path / "run.sqlite")) as connection, connection:
        connection.execute("DELETE FROM results WHERE number % 2 = 0 AND number < 20")
    with pytest.raises(DataError, match="the list of results is damaged"):
        tabulate_run(tmp_path)


def test_a_table_that_another_process_empties_is_filled_again(tmp_path: Path) -> None:
    run(make_job(tmp_path, 20, TalkingModel(agree)), ask_nobody)
    with TrialTable(tmp_path) as first, TrialTable(tmp_path) as second:
        first.update()
        second._clear()
        first.update()
        assert [row.rate("correct") for row in tabulate(first)] == [1.0]


def test_results_that_arrive_during_an_export_are_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(make_job(tmp_path, 20, TalkingModel(agree)), ask_nobody)
    monkeypatch.setattr(TrialTable, "update", lambda _: None)
    with TrialTable(tmp_path) as table:
        assert [scores and scores["correct"] for _, scores in table.scored()] == [True] * 20
