"""The overview that `ragbed run` prints, and `ragbed report --disagreements`."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from ragbed import report
from ragbed.analysis.overview import tabulate_run
from ragbed.api.runs import describe_cells
from ragbed.cli.console import show_result
from ragbed.reporting.table import Result
from ragbed.runs.execution import run
from ragbed.schema import Case, Completion
from tests.cli.typed import type_command
from tests.runs.harness import TalkingModel, ask_nobody, make_case, make_job
from tests.ui.viewer.runs import said, write_run

REPLIES = [
    "It is gold-0.",
    "It is not gold-1.",  # false credit: denied
    "Gold 2",  # missed credit: another spelling
    "Insufficient information.",  # missed refusal: a capital letter
]


def _say(case: Case) -> Completion:
    return Completion(outcome="ok", reply=REPLIES[int(case.item)], finish="stop")


def _overview(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines of a stored run's overview."""
    with patch.dict("os.environ", {"COLUMNS": "200"}):
        show_result(Result(*describe_cells(tabulate_run(folder), folder)), to_stderr=False)
    return "".join(capsys.readouterr()).splitlines()


def test_a_condition_has_one_score_and_those_of_other_scorers_only_for_their_profiles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(make_job(tmp_path / "run", 4, TalkingModel(_say)), ask_nobody)
    lines = _overview(tmp_path / "run", capsys)
    header, row = (line.split() for line in lines if line.startswith(("testbed", "noise")))
    assert header == ["testbed", "noise", "accuracy", "%", "questions"]
    assert row[2:] == ["50.0", "[6.8,", "93.2]*", "4"]
    words = ("run", "-m", "scripted/oracle", "-d", "figure1", "--limit", "2", "--scorer", "paper")
    shown = type_command(*words, "-o", str(tmp_path / "p"))
    assert " paper %" in shown.out
    assert "code %" not in shown.out
    cases = [replace(make_case(number), profile="code-2024") for number in range(4)]
    write_run(tmp_path / "code", cases, {"m": [_say(case) for case in cases]})
    lines = _overview(tmp_path / "code", capsys)
    header, row = (line.split() for line in lines if line.startswith(("testbed", "noise")))
    assert header[2:] == ["accuracy", "%", "code", "%", "paper", "%", "questions"]
    assert row[2:] == ["50.0", "[6.8,", "93.2]*", "50.0", "50.0", "4"]


def _header_and_rows(folder: Path, *words: str) -> tuple[list[str], list[str]]:
    """The headings of a run of an oracle, and every row up to its noise."""
    run_words = ("run", "-m", "scripted/oracle", "--cache", "off", "--limit", "6", *words, "--out", str(folder))
    done = type_command(*run_words)
    assert done.code == 0
    lines = done.out.splitlines()
    (header,) = (line.split() for line in lines if line.startswith("testbed"))
    rows = [line.split() for line in lines if line.startswith(("noise", "counterfactual", "closed-book"))]
    place = header.index("noise")
    return header[: place + 1], [" ".join(row[: place + 1]) for row in rows]


def _write_unsure(folder: Path, count: int) -> None:
    """Write a run with one correct response, one unsure response, and `count` gold answers that cannot be matched."""
    cases = [
        replace(make_case(number), question="Which city hosted the games?", answer=((answer,),), fake=(("New York",),))
        for number, answer in enumerate([*(["Athens"] * 2), *(["?"] * count)])
    ]
    both = said("Athens hosted the games. New York hosted the games.")
    write_run(folder, cases, {"m": [said("Athens."), both, *([said("Athens.")] * count)]})


def test_the_upper_bound_of_the_accuracy_is_the_one_in_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_unsure(tmp_path / "run", 2)
    for lines in (_overview(tmp_path / "run", capsys), type_command("report", str(tmp_path / "run")).out.splitlines()):
        (row,) = (line for line in lines if "(at most" in line)
        assert "50.0 [" in row
        assert "* (at most 100.0)" in row


@pytest.mark.parametrize("questions", [29, 30])
def test_the_mark_and_its_column_count_questions_and_not_cases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], questions: int
) -> None:
    """29 questions with two cases each used to have no mark, because the mark counted the 58 cases."""
    cases = [replace(make_case(item), case=f"{item}/{seed}", seed=seed) for item in range(questions) for seed in (0, 1)]
    write_run(tmp_path / "run", cases, {"m": [said(f"gold-{case.item}") for case in cases]})
    lines = _overview(tmp_path / "run", capsys)
    header, row = (line.split() for line in lines if line.startswith(("testbed", "noise")))
    assert header[-2:] == ["n", "questions"]
    assert row[-2:] == [str(2 * questions), str(questions)]
    for shown in ("\n".join(lines), type_command("report", str(tmp_path / "run")).out):
        assert ("]*" in shown) == (questions < 30)
    assert ("* fewer than 30 questions" in "\n".join(lines)) == (questions < 30)


def test_filtered_and_truncated_responses_are_not_counted_as_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = {0: "ok", 1: "truncated", 2: "filtered", 3: "filtered", 4: "error"}

    def say(case: Case) -> Completion:
        return Completion(outcome=outcomes[int(case.item)], reply="", error="server: x")  # type: ignore[arg-type]

    run(make_job(tmp_path / "run", 5, TalkingModel(say)), ask_nobody)
    lines = _overview(tmp_path / "run", capsys)
    header, row = (line.split() for line in lines if line.startswith(("testbed", "noise")))
    assert header[-4:] == ["questions", "errors", "truncated", "filtered"]
    assert row[-4:] == ["5", "1", "1", "2"]


def test_a_condition_without_results_has_no_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "run", [make_case(0), replace(make_case(1), noise=0.4)], {"m/right": [said("gold-0")]})
    rows = [line.split() for line in _overview(tmp_path / "run", capsys)]
    (row,) = (row for row in rows if row[:2] == ["noise", "0.4"])
    assert row[2:] == ["–", "0", "of", "1", "0"]


def test_rows_of_different_arms_and_sizes_can_be_told_apart(tmp_path: Path) -> None:
    words = ("-d", "ragbed-mini-en_base", "--testbeds", "noise,closed-book", "--noise", "0,0.8")
    header, rows = _header_and_rows(tmp_path / "run", *words, "--distractors", "related,fixed")
    assert header == ["testbed", "distractors", "docs", "noise"]
    assert {"noise related 5 0.8", "noise fixed 5 0.8", "noise control 5 0.8"} <= set(rows)
    assert "closed-book – – –" in rows
    assert len(set(rows)) == len(rows)


def test_where_scorers_disagree_every_reply_is_named_with_its_grounds(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 4, TalkingModel(_say)), ask_nobody)
    done = type_command("report", str(tmp_path / "run"), "--disagreements", "code", "-f", "json")
    told = json.loads(done.out)
    assert [(one["case"].split("/")[1], one["score"], one["credit"], one["verdict"]) for one in told] == [
        ("1", "correct", "false", "incorrect"),
        ("2", "correct", "missed", "correct"),
        ("3", "refused", "missed", "refused"),
    ]
    assert told[0]["evidence"] == [["answer.name.denied", 10, 16, "gold-1"]]
    assert {one["run"] for one in told} == {str(tmp_path / "run")}


def test_truncated_responses_that_only_the_original_code_credits_are_disagreements(tmp_path: Path) -> None:
    ends = [said("gold-0"), said("gold-1"), Completion(outcome="error", error="server: x")]
    ends[1] = replace(ends[1], outcome="truncated", finish="length")
    write_run(tmp_path / "run", [make_case(number) for number in range(3)], {"m": ends})
    (found,) = report(tmp_path / "run", disagreements="code").records()
    assert [found[name] for name in ("score", "credit", "reply", "verdict")] == [
        *("correct", "false", "gold-1", "truncated")
    ]


def test_disagreements_are_not_written_in_formats_for_tables(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 1, TalkingModel(_say)), ask_nobody)
    done = type_command("report", str(tmp_path / "run"), "--disagreements", "code", "-f", "md")
    assert (done.code, "Use --format text or --format json" in done.err) == (2, True)
