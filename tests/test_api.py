"""Python's way in: as small as the command line, and the same."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from ragbed import api
from ragbed.errors import RagbedError, UsageError
from tests.cli.typed import type_command

DATA = "ragbed-mini-en_base"


def _run(tmp_path: Path, **options: api.Option) -> api.Run:
    settings: dict[str, api.Option] = {"testbeds": ["noise", "rejection"], "noise": "0,0.8,1", "limit": 8}
    return api.run("scripted/oracle", DATA, out=tmp_path / "run", **settings | options)


def test_a_run_has_the_numbers_of_the_command_line(tmp_path: Path) -> None:
    run = _run(tmp_path)
    words = ("run", "-m", "scripted/oracle", "-d", DATA, "--testbeds", "noise,rejection", "--noise", "0,0.8,1")
    typed = type_command(*words, "--limit", "8", "--out", str(tmp_path / "typed"), "--json")
    assert typed.code == 0
    assert run.cells() == api.open_run(json.loads(typed.out)["run"]).cells()
    trials = list(run.trials())
    assert len(trials) == 24
    assert {trial["outcome"] for trial in trials} == {"ok"}


def test_tables_are_rows_text_and_html(tmp_path: Path) -> None:
    table = _run(tmp_path).table("noise")
    assert (len(table), table[0]["model"], table[0]["asked"]) == (1, "scripted/oracle", "8")
    assert "scripted/oracle" in repr(table)
    assert "<th>0.8</th>" in table._repr_html_()
    hostile = api.Table("<b>", ["<i>"], [["<script>alert(1)</script>"]])._repr_html_()
    assert "<script>" not in hostile
    assert "&lt;script&gt;alert(1)" in hostile


def test_it_works_where_a_loop_is_running_as_in_a_notebook(tmp_path: Path) -> None:
    async def cell() -> api.Run:
        return _run(tmp_path)

    assert asyncio.run(cell()).table("noise")[0]["asked"] == "8"


def test_runs_are_compared(tmp_path: Path) -> None:
    good = _run(tmp_path)
    bad = api.run("scripted/refuser", DATA, out=tmp_path / "bad", testbeds="noise", noise=0, limit=8)
    (row,) = good.compare(bad)
    assert (row.n, row.first, row.second) == (8, 1.0, 0.0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"testbed": "noise"}, "No such option"),
        ({"limit": "many"}, "a number of items"),
        ({"noise": 7}, "--noise 7"),
        ({"testbeds": "nois"}, "Did you mean 'noise'"),
        ({"dry_run": True}, "dry_run is for the command line"),
        ({"fail_under": ["noise.accuracy=1"]}, "fail_under is for the command line"),
    ],
)
def test_a_wrong_option_is_a_usage_error(options: dict[str, api.Option], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        _run(tmp_path, **options)
    assert not (tmp_path / "run").exists()


def test_a_folder_without_a_run_and_a_table_that_is_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(RagbedError, match="no run"):
        api.open_run(tmp_path)
    with pytest.raises(UsageError, match="has no table 'integration'; it has noise"):
        _run(tmp_path).table("integration")
