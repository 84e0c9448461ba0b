"""`ragbed score`, typed as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec.structs import replace

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


def test_a_run_is_scored_on_three_tracks(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 4, TalkingModel(_say)), ask_nobody)
    done = type_command("score", str(tmp_path / "run"))
    assert done.code == 0
    header, row = (line.split() for line in done.out.splitlines() if line.startswith(("testbed", "noise")))
    assert header[-6:] == ["code", "%", "paper", "%", "robust", "%"]
    assert row[-5:] == ["50.0", "50.0", "50.0", "[9.4,", "90.6]*"]


def _header_and_rows(folder: Path, *words: str) -> tuple[list[str], list[str]]:
    """The headings of a scored run of an oracle, and every row up to its noise."""
    run_words = ("run", "-m", "scripted/oracle", "--no-cache", "--limit", "6", *words, "--out", str(folder))
    assert type_command(*run_words).code == 0
    lines = type_command("score", str(folder)).out.splitlines()
    (header,) = (line.split() for line in lines if line.startswith("testbed"))
    rows = [line.split() for line in lines if line.startswith(("noise", "counterfactual", "closed-book"))]
    place = header.index("noise")
    return header[: place + 1], [" ".join(row[: place + 1]) for row in rows]


def _write_unsure(folder: Path, count: int) -> None:
    """Write a run with one correct response, one unsure response, and `count` gold answers that cannot be matched."""
    answers = [*(["Athens"] * 2), *(["?"] * count)]
    cases = [
        replace(make_case(number), question="Which city hosted the games?", answer=((answer,),), fake=(("New York",),))
        for number, answer in enumerate(answers)
    ]
    both = said("Athens hosted the games. New York hosted the games.")
    write_run(folder, cases, {"m": [said("Athens."), both, *([said("Athens.")] * count)]})


def test_the_upper_bound_of_the_accuracy_is_the_one_in_reports(tmp_path: Path) -> None:
    _write_unsure(tmp_path / "run", 2)
    for command in ("score", "report"):
        (row,) = (line for line in type_command(command, str(tmp_path / "run")).out.splitlines() if "at most" in line)
        assert "50.0 [" in row
        assert "* (at most 100.0)" in row


def test_the_mark_for_few_cases_is_explained_if_few_cases_can_be_scored(tmp_path: Path) -> None:
    _write_unsure(tmp_path / "run", 40)
    assert "* fewer than 30 cases" in type_command("score", str(tmp_path / "run")).out


def test_filtered_and_truncated_responses_are_not_counted_as_errors(tmp_path: Path) -> None:
    outcomes = {0: "ok", 1: "truncated", 2: "filtered", 3: "filtered", 4: "error"}

    def say(case: Case) -> Completion:
        return Completion(outcome=outcomes[int(case.item)], reply="", error="server: x")  # type: ignore[arg-type]

    run(make_job(tmp_path / "run", 5, TalkingModel(say)), ask_nobody)
    lines = type_command("score", str(tmp_path / "run")).out.splitlines()
    header, row = (line.split() for line in lines if line.startswith(("testbed", "noise")))
    assert header[3:7] == ["n", "errors", "truncated", "filtered"]
    assert row[3:7] == ["5", "1", "1", "2"]


def test_a_condition_without_results_has_no_rate(tmp_path: Path) -> None:
    cases = [make_case(0), replace(make_case(1), noise=0.4)]
    write_run(tmp_path / "run", cases, {"m/right": [said("gold-0")]})
    rows = [line.split() for line in type_command("score", str(tmp_path / "run")).out.splitlines()]
    (row,) = (row for row in rows if row[:3] == ["noise", "en", "0.4"])
    assert row[3:] == ["0", "of", "1", "0", "accuracy", "–", "–", "–"]


def test_runs_of_the_same_model_can_be_told_apart(tmp_path: Path) -> None:
    runs = [str(tmp_path / name) for name in ("one", "two")]
    for place, reply in zip(runs, ("gold-0", "no idea"), strict=True):
        write_run(Path(place), [make_case(0)], {"m/same": [said(reply)]})
    titles = [line for line in type_command("score", *runs).out.splitlines() if line.startswith("m/same on ")]
    assert titles == [f"m/same on made, profile robust, run {place}" for place in runs]
    cells = json.loads(type_command("score", *runs, "--json").out)["cells"]
    assert [(cell["run"], cell["rates"]["correct"]) for cell in cells] == [(runs[0], 1.0), (runs[1], 0.0)]
    assert "run" not in type_command("score", runs[0], runs[0]).out.splitlines()[0]


def test_rows_of_different_arms_and_sizes_can_be_told_apart(tmp_path: Path) -> None:
    words = ("-d", "ragbed-mini-en_base", "--testbeds", "noise,closed-book", "--noise", "0,0.8")
    header, rows = _header_and_rows(tmp_path / "run", *words, "--distractors", "related,fixed")
    assert header == ["testbed", "lang", "arm", "docs", "noise"]
    assert {"noise en related 5 0.8", "noise en fixed 5 0.8", "noise en control 5 0.8"} <= set(rows)
    assert "closed-book en – – –" in rows
    assert len(set(rows)) == len(rows)


def test_rows_of_different_shares_of_true_documents_can_be_told_apart(tmp_path: Path) -> None:
    words = ("-d", "ragbed-mini-en_fact", "--testbeds", "counterfactual", "--noise", "0", "--true-ratio", "0,0.4,1")
    header, rows = _header_and_rows(tmp_path / "run", *words)
    assert header == ["testbed", "lang", "true", "noise"]
    assert rows == [f"counterfactual en {true} 0" for true in ("0", "0.4", "1")]


def test_what_does_not_vary_has_no_column(tmp_path: Path) -> None:
    words = ("-d", "ragbed-mini-en_base", "--testbeds", "noise,closed-book", "--noise", "0,0.8")
    assert _header_and_rows(tmp_path / "run", *words)[0] == ["testbed", "lang", "noise"]


def test_where_tracks_disagree_every_reply_is_named_with_its_grounds(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 4, TalkingModel(_say)), ask_nobody)
    done = type_command("score", str(tmp_path / "run"), "--disagreements", "code", "--json")
    told = json.loads(done.out)
    found = [(one["case"].split("/")[1], one["score"], one["credit"], one["verdict"]) for one in told["disagreements"]]
    assert found == [
        ("1", "correct", "false", "incorrect"),
        ("2", "correct", "missed", "correct"),
        ("3", "refused", "missed", "refused"),
    ]
    assert told["disagreements"][0]["findings"] == [["answer.name.denied", 10, 16, "gold-1"]]
    assert told["cells"][0]["rates"]["correct"] == 0.5


def test_truncated_responses_that_only_the_original_code_credits_are_disagreements(tmp_path: Path) -> None:
    ends = [said("gold-0"), said("gold-1"), Completion(outcome="error", error="server: x")]
    ends[1] = replace(ends[1], outcome="truncated", finish="length")
    write_run(tmp_path / "run", [make_case(number) for number in range(3)], {"m": ends})
    (found,) = json.loads(type_command("score", str(tmp_path / "run"), "--disagreements", "code", "--json").out)[
        "disagreements"
    ]
    assert [found[name] for name in ("score", "credit", "reply", "verdict")] == [
        *("correct", "false", "gold-1", "truncated")
    ]


def test_the_list_for_people_says_how_many_there_are_of_each_kind(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 4, TalkingModel(_say)), ask_nobody)
    shown = type_command("score", str(tmp_path / "run"), "--disagreements", "paper").out
    assert "False credit of the paper track: 1" in shown
    assert "Missed credit of the paper track: 2" in shown


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    done = type_command("score", str(tmp_path))
    assert (done.code, done.out) == (2, "")
