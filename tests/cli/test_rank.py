"""`ragbed rank`, typed as a user types it, on models whose scores are known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.typed import type_command
from tests.ui.viewer.runs import write_incomplete

_TESTBEDS = ("--testbeds", "noise,rejection", "--noise", "0.4,1")
DATA = ("-d", "ragbed-mini-en_base", "--limit", "20", *_TESTBEDS, "--cache", "off")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    three = ("-m", "scripted/oracle", "-m", "scripted/last-doc", "-m", "scripted/refuser")
    assert type_command("run", *three, *DATA, "--out", str(folder / "three")).code == 0
    assert type_command("run", "-m", "scripted/refuser", *DATA, "--out", str(folder / "one")).code == 0
    return folder


def test_all_models_of_a_run_are_ranked_by_testbed(runs: Path) -> None:
    done = type_command("rank", str(runs / "three"), "--json")
    rows = json.loads(done.out)["models"]
    noise = [row for row in rows if row["testbed"] == "noise"]
    assert (noise[0]["model"], noise[0]["best_rank"], noise[0]["worst_rank"]) == ("scripted/oracle", 1, 1)
    assert noise[-1]["model"] == "scripted/refuser"
    rejection = {row["model"]: row["best_rank"] for row in rows if row["testbed"] == "rejection"}
    assert rejection == {"scripted/oracle": 1, "scripted/refuser": 1, "scripted/last-doc": 3}
    assert "adjusted for 6 comparisons (Holm)" in done.err


def test_several_runs_are_ranked_together_and_pairs_are_listed(runs: Path) -> None:
    done = type_command("rank", str(runs / "three"), str(runs / "one"), "--pairs")
    assert done.code == 0
    assert f"{runs}/one:scripted/refuser" in done.out
    assert "B − A" in done.out


def test_one_model_alone_is_a_usage_error_with_the_fix(runs: Path) -> None:
    done = type_command("rank", str(runs / "one"))
    assert done.code == 2
    assert (
        "contains only the model scripted/refuser, but a ranking requires at least two models. Add more runs."
        in done.err
    )


def test_incomplete_responses_are_counted(tmp_path: Path) -> None:
    write_incomplete(tmp_path / "run")
    rows = json.loads(type_command("rank", str(tmp_path / "run"), "--json").out)["models"]
    assert [(row["model"], row["incomplete"]) for row in rows] == [("m/good", 0), ("m/cut", 4)]
    lines = [line.split() for line in type_command("rank", str(tmp_path / "run")).out.splitlines()]
    (header,) = (line for line in lines if "rank" in line)
    assert header[-1] == "incomplete"
    (row,) = (line for line in lines if "m/cut" in line[:4] and "m/good" not in line)
    assert row[-1] == "4"
