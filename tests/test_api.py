"""Python's way in: as small as the command line, and the same."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ragbed
from ragbed.cli.run import run as run_command
from ragbed.errors import RagbedError, UsageError
from ragbed.runs.engines import ENGINES
from ragbed.runs.engines.local import LocalEngine
from tests.cli.typed import type_command

DATA = "ragbed-mini-en_base"


def _run(tmp_path: Path, **options: Any) -> ragbed.Run:
    settings: dict[str, Any] = {"testbeds": ["noise", "rejection"], "noise": "0,0.8,1", "limit": 8}
    return ragbed.run("scripted/oracle", DATA, **{**settings, "out": tmp_path / "run", **options})


def test_a_run_has_the_numbers_of_the_command_line(tmp_path: Path) -> None:
    run = _run(tmp_path)
    words = ("run", "-m", "scripted/oracle", "-d", DATA, "--testbeds", "noise,rejection", "--noise", "0,0.8,1")
    typed = type_command(*words, "--limit", "8", "--out", str(tmp_path / "typed"), "--json")
    assert typed.code == 0
    assert run.cells() == ragbed.open_run(json.loads(typed.out)["run"]).cells()
    trials = list(run.trials())
    assert len(trials) == 24
    assert {trial["outcome"] for trial in trials} == {"ok"}
    assert {one["stance"] for one in trials[0]["documents"]} == {"supports"}


def test_tables_are_rows_text_and_html(tmp_path: Path) -> None:
    run = _run(tmp_path)
    table = run.table("noise")
    assert (len(table), table[0]["model"], table[0]["asked"]) == (1, "scripted/oracle", "8")
    assert "scripted/oracle" in repr(table)
    assert ">0.8</th>" in table._repr_html_()
    assert run._repr_html_().count("<table>") == len(run.tables())
    hostile = ragbed.Table("<b>", ["<i>"], [["<script>alert(1)</script>"]])._repr_html_()
    assert "<script>" not in hostile
    assert "&lt;script&gt;alert(1)" in hostile


def test_it_works_where_a_loop_is_running_as_in_a_notebook(tmp_path: Path) -> None:
    async def cell() -> ragbed.Run:
        return _run(tmp_path)

    assert asyncio.run(cell()).table("noise")[0]["asked"] == "8"


def test_an_interrupt_in_a_notebook_ends_the_asking(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(_SLOW)
    (tmp_path / "cell.py").write_text(_CELL)
    path = os.pathsep.join([str(tmp_path), str(Path(ragbed.__file__).parents[1])])
    program = subprocess.Popen(
        [sys.executable, "cell.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    with program:
        out, _ = program.communicate(timeout=120)
    asked, later, came = map(int, out.split())
    assert 3 <= came <= asked < 40
    assert later == asked


_SLOW = """
import os, signal, time
def answer(question, documents, lang):
    with open("calls.txt", "a") as log:
        log.write(".")
        called = log.tell()
    if called == 4:
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.1)
    return "no idea"
"""
_CELL = """
import asyncio, pathlib, time, ragbed
async def cell():
    try:
        ragbed.run("python/slow:answer", "ragbed-mini-en_base", testbeds="noise", noise=0, limit=40, max_connections=1,
                   out="run")
    except KeyboardInterrupt:
        print(pathlib.Path("calls.txt").stat().st_size)
        time.sleep(1)  # a notebook lives on
        print(pathlib.Path("calls.txt").stat().st_size, len(list(ragbed.open_run("run").trials())))
loop = asyncio.new_event_loop()  # as a notebook's: an interrupt is raised in the cell
loop.run_until_complete(cell())
"""


def test_what_a_run_opened_is_closed_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    class Noting(LocalEngine):
        def close(self) -> None:
            closed.append((tmp_path / "run").exists())
            super().close()

    monkeypatch.setitem(ENGINES, "noting", lambda plan: Noting(plan.workers))
    _run(tmp_path, engine="noting")
    assert closed == [True]


def test_the_table_of_remedies_has_a_row_a_remedy_and_a_gain_a_testbed(tmp_path: Path) -> None:
    table = _run(tmp_path, strategies="quote").table("remedies")
    assert [row["data"] for row in table] == [f"{DATA}, robust", f"{DATA}, robust+quote"]
    assert {"noise, gain", "rejection, gain"} < set(table.columns)
    assert "robust+quote" in repr(table)


def test_runs_are_compared(tmp_path: Path) -> None:
    good = _run(tmp_path)
    bad = ragbed.run("scripted/refuser", DATA, out=tmp_path / "bad", testbeds="noise", noise=0, limit=8)
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
def test_a_wrong_option_is_a_usage_error(options: dict[str, object], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        _run(tmp_path, **options)
    assert not (tmp_path / "run").exists()


def test_a_folder_without_a_run_and_a_table_that_is_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(RagbedError, match="no run"):
        ragbed.open_run(tmp_path)
    with pytest.raises(UsageError, match="has no table 'integration'; it has noise"):
        _run(tmp_path).table("integration")


def test_every_option_of_the_command_is_one_of_python_and_none_more() -> None:
    of_the_terminal = {"dry_run", "fail_under", "junit", "json", "config"}
    typed = {str(one.name) for one in run_command.params if not getattr(one, "hidden", False)}
    typed -= {*of_the_terminal, "model", "data"}
    assert set(ragbed.Options.__annotations__) == typed, "name the options in ragbed.api.Options as `ragbed run` does"


def test_import_brings_the_public_names_only_when_they_are_used() -> None:
    program = """
import sys, ragbed
assert sorted(name for name in sys.modules if name.startswith("ragbed")) == ["ragbed"]
assert "click" not in sys.modules and "msgspec" not in sys.modules
assert callable(ragbed.run) and all(hasattr(ragbed, name) for name in ragbed.__all__)
try:
    ragbed.runn
except AttributeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("module 'ragbed' has no attribute 'runn'\n", "")


def test_a_user_who_checks_types_hears_of_a_misspelt_option(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(_TYPED)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", "cache", "mine.py"]
    here = os.environ | {"MYPYPATH": str(Path(ragbed.__file__).parents[1])}
    done = subprocess.run(mypy, cwd=tmp_path, env=here, capture_output=True, text=True, check=False)
    told = re.findall(r"^mine.py:(\d): error: .* \[(.+)\]$", done.stdout, re.MULTILINE)
    assert told == [("5", "call-arg"), ("6", "arg-type"), ("7", "attr-defined")], done.stdout


_TYPED = """
import ragbed
run = ragbed.run(model="scripted/oracle", data="figure1", testbeds=["noise"], limit=8, no_cache=True)
rows: list[str] = [str(row["model"]) for row in run.table("noise")]
again: ragbed.Run = ragbed.open_run(run.folder)
ragbed.run(model="scripted/oracle", data="figure1", testbed="noise")
ragbed.run(model="scripted/oracle", data="figure1", num_docs="five")
ragbed.runn
""".lstrip("\n")
