"""`ragbed score` as typed, on real runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.typed import type_command


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "scripted"
    words = ("-m", "scripted/last-doc", "-m", "scripted/oracle", "-d", "ragbed-mini-en_base", "--limit", "10")
    done = type_command("run", *words, "--arms", "related,fixed", "--out", str(folder), "--no-cache")
    assert done.code == 0, done.err
    return folder


def test_tables_are_printed_with_intervals_and_counts(run: Path) -> None:
    done = type_command("score", str(run), "--track", "code")
    assert done.code == 0
    assert "scripted/last-doc on ragbed-mini-en_base (en), profile robust, track code" in done.out
    row = next(line for line in done.out.splitlines() if "rho10" in line)
    assert row.split()[:5] == ["noise", "rho10", "docs", "5", "0.100"]


def test_json_has_every_cell_and_infeasible_cases_are_counted_for_every_model(run: Path) -> None:
    done = type_command("score", str(run), "--json")
    cells = json.loads(done.out)["cells"]
    assert {cell["track"] for cell in cells} >= {"code", "paper"}
    wide = [cell for cell in cells if cell["arm"] == "fixed" and cell["k"] == 10 and cell["metric"] == "accuracy"]
    assert {(cell["model"], cell["value"], cell["infeasible"]) for cell in wide} == {
        ("scripted/last-doc", None, 10),
        ("scripted/oracle", None, 10),
    }
    assert all(cell["asked"] >= cell["errors"] for cell in cells)


def test_runs_of_different_models_are_scored_together_and_the_same_calls_are_not_counted_twice(
    run: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    words = ("-m", "scripted/refuser", "-d", "ragbed-mini-en_base", "--limit", "10", "--no-cache")
    assert type_command("run", *words, "--out", str(other)).code == 0
    cells = json.loads(type_command("score", str(run), str(other), "--json").out)["cells"]
    assert {cell["model"] for cell in cells} == {"scripted/last-doc", "scripted/oracle", "scripted/refuser"}
    twice = type_command("score", str(run), str(other), str(run))
    assert twice.code == 2
    assert "name one of them" in twice.err


def test_what_is_no_run_is_told(tmp_path: Path) -> None:
    done = type_command("score", str(tmp_path / "nothing"))
    assert done.code != 0
    assert "nothing" in done.err


def test_an_unknown_track_is_wrong_usage(run: Path) -> None:
    assert type_command("score", str(run), "--track", "best").code == 2
