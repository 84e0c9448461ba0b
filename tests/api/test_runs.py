"""`ragbed.run`, `open_run` and the results of a run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ragbed
from ragbed.analysis.overview import tabulate_run
from ragbed.errors import RagbedError, UsageError
from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.execution import run as execute
from ragbed.runs.status import read_status
from ragbed.schema import Case, Completion
from tests.cli.typed import type_command
from tests.runs.harness import TalkingModel, ask_nobody, make_job

DATA = "ragbed-mini-en_base"


def _run(tmp_path: Path, **options: Any) -> ragbed.Run:
    settings: dict[str, Any] = {"testbeds": ["noise", "rejection"], "noise": "0,0.8,1", "limit": 8}
    return ragbed.run("scripted/oracle", DATA, **{**settings, "out": tmp_path / "run", **options})


def test_a_run_has_the_numbers_of_the_command_line(tmp_path: Path) -> None:
    run = _run(tmp_path)
    words = ("run", "-m", "scripted/oracle", "-d", DATA, "--testbeds", "noise,rejection", "--noise", "0,0.8,1")
    typed = type_command(*words, "--limit", "8", "--out", str(tmp_path / "typed"), "--json")
    assert typed.code == 0
    assert run.metrics() == ragbed.open_run(json.loads(typed.out)["run"]).metrics()
    trials = list(run.trials())
    assert len(trials) == 24
    assert {trial["outcome"] for trial in trials} == {"ok"}
    assert {document["stance"] for document in trials[0]["documents"]} == {"supports"}


def test_runs_without_a_folder_that_are_planned_in_the_same_second_get_different_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = ragbed.RunSpec(model="scripted/oracle", data="figure1", num_docs=2)
    folders = {ragbed.plan_run(spec).folder for _ in range(5)}
    assert len(folders) == 5
    assert {folder.parent for folder in folders} == {Path("runs")}


def test_tables_are_numbers_text_and_html(tmp_path: Path) -> None:
    run = _run(tmp_path)
    table = run.table("noise")
    assert (len(table), table[0]["model"], table[0]["n"], table[0]["0.8"]) == (1, "scripted/oracle", 8, 1.0)
    assert "100.0 [60.1, 100.0]*" in repr(table)
    assert ">0.8</th>" in table._repr_html_()
    assert run._repr_html_().count("<table>") == len(run.tables())
    hostile = ragbed.Table([{"<i>": "<script>alert(1)</script>"}], "<b>")._repr_html_()
    assert "<script>" not in hostile
    assert "&lt;script&gt;alert(1)" in hostile


def test_a_table_of_many_rows_is_shortened_when_printed() -> None:
    records = ragbed.Table([{"n": number, "text": "x" * 100} for number in range(100)])
    assert "… 40 more rows" in repr(records)
    assert "… 40 more rows" in records._repr_html_()
    assert "x" * 81 not in repr(records)
    assert (len(records), records[99]["n"], records[1:3][0]["n"]) == (100, 99, 1)


def test_a_table_without_rows_says_so() -> None:
    assert repr(ragbed.Table([], "Findings")) == "Findings\nNo rows"
    assert "No rows" in ragbed.Table([], "Findings")._repr_html_()


def test_a_report_is_text_files_and_cells(tmp_path: Path) -> None:
    run = _run(tmp_path, testbeds="noise", noise=[0, 0.4])
    markdown = ragbed.report(run, format="md", out=tmp_path / "report.md")
    assert markdown["text"] == (tmp_path / "report.md").read_text("utf-8")
    assert [
        row["value"] for row in markdown.records() if row["metric"] == "accuracy" and row["scorer"] == "robust"
    ] == [1.0, 1.0]
    page = ragbed.report([run], format="html", out=tmp_path / "report.html", locale="zh")
    assert page["paths"] == [tmp_path / "report.html"]
    figures = ragbed.report(run, format="svg", out=tmp_path / "figures")
    assert figures["paths"]
    assert all(path.read_text("utf-8").startswith("<svg") for path in figures["paths"])


def test_figures_are_shown_by_a_notebook(tmp_path: Path) -> None:
    figures = _run(tmp_path, testbeds="noise", noise=[0, 0.8]).figures()
    assert figures
    assert all(figure._repr_svg_().startswith("<svg") for figure in figures)
    with pytest.raises(UsageError, match="locale='de' is not one of en, zh"):
        ragbed.open_run(tmp_path / "run").figures(locale="de")  # type: ignore[arg-type]


def test_a_run_whose_folder_was_deleted_can_be_shown(tmp_path: Path) -> None:
    run = _run(tmp_path)
    shutil.rmtree(run.folder)
    assert repr(run) == f"Run({str(run.folder)!r}: cannot be read)"


def test_figures_show_the_names_that_the_user_gave_to_models(tmp_path: Path) -> None:
    run = ragbed.run("mine=scripted/oracle", "ragbed-mini-en_base", limit=3, testbeds="noise", out=tmp_path / "run")
    assert ">mine" in run.figures()[0].svg
    assert "scripted/oracle" not in run.figures()[0].svg


def test_status_and_outcomes_count_the_cases(tmp_path: Path) -> None:
    run = _run(tmp_path)
    (model,) = read_status(run.folder).models
    assert (model.planned, model.ok, model.error) == (24, 24, 0)
    assert run.outcomes == {"ok": 24}
    assert (len(run.errors), run.errors.columns[-1]) == (0, "traceback")
    assert "message" in repr(run.errors)
    assert repr(run) == f"Run('{tmp_path}/run': 24 ok)"


def test_it_works_where_a_loop_is_running_as_in_a_notebook(tmp_path: Path) -> None:
    async def cell() -> ragbed.Run:
        return _run(tmp_path)

    assert asyncio.run(cell()).table("noise")[0]["n"] == 8


def test_an_interrupt_in_a_notebook_ends_the_run(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(_SLOW)
    (tmp_path / "cell.py").write_text(_CELL)
    path = os.pathsep.join([str(tmp_path), str(Path(ragbed.__file__).parents[1])])
    environ = os.environ | {"PYTHONPATH": path}
    words = (sys.executable, "cell.py")
    with subprocess.Popen(words, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True) as program:
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


def test_the_engine_of_a_run_is_closed_at_its_end_and_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = []

    monkeypatch.setattr(LocalEngine, "close", lambda _: closed.append((tmp_path / "run").exists()))
    with pytest.raises(UsageError, match="unknown"):
        ragbed.run("scripted/nobody", DATA, out=tmp_path / "run")
    _run(tmp_path)
    assert closed == [False, True]


def test_the_table_of_strategies_has_a_row_per_strategy_and_a_gain_per_testbed(tmp_path: Path) -> None:
    table = _run(tmp_path, strategies="quote").table("remedies")
    assert [row["data"] for row in table] == [f"{DATA}, robust", f"{DATA}, robust+quote"]
    assert {"noise: gain in accuracy", "rejection: gain in refusal rate"} < set(table.columns)
    assert "robust+quote" in repr(table)


def test_a_forecast_stores_nothing(tmp_path: Path) -> None:
    (row,) = ragbed.forecast("scripted/oracle", DATA, testbeds="noise", noise=[0, 0.4], limit=8, out=tmp_path / "run")
    assert (row["model"], row["calls"]) == ("scripted/oracle", 16)
    assert not (tmp_path / "run").exists()


def test_a_forecast_makes_at_most_as_many_calls_at_once_as_allowed() -> None:
    running, most = 0, 0

    async def answer(prompt: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return "?"

    ragbed.forecast(answer, DATA, testbeds="noise", noise=0, max_connections=1)
    assert most == 1


def test_a_forecast_with_a_function_that_fails_has_the_traceback_in_a_note() -> None:
    def fails(prompt: str) -> str:
        raise ValueError("no key")

    with pytest.raises(ragbed.RagbedError) as caught:
        ragbed.forecast(fails, DATA, testbeds="noise", noise=0)
    assert str(caught.value).endswith("probe cases: exception: ValueError: no key.")
    assert "in fails" in caught.value.__notes__[0]


def test_a_forecast_for_a_shard_without_questions_is_zero(tmp_path: Path) -> None:
    options: dict[str, Any] = {"testbeds": "noise", "noise": 0, "limit": 1, "out": tmp_path / "run"}
    rows = [ragbed.forecast("scripted/oracle", DATA, shard=f"{part}/2", **options)[0] for part in (1, 2)]
    assert sorted((row["calls"], row["minutes"] >= 0) for row in rows) == [(0, True), (1, True)]


def test_values_may_come_from_an_iterator(tmp_path: Path) -> None:
    lists: dict[str, list[Any]] = {"fail_under": ["noise.accuracy@0=0.6"], "noise": [0, 0.4]}
    iterators: dict[str, Any] = {name: iter(values) for name, values in lists.items()}
    one, other = (
        ragbed.run("scripted/refuser", DATA, out=tmp_path / name, testbeds="noise", limit=3, **options)
        for name, options in (("1", iterators), ("2", dict[str, Any](lists)))
    )
    assert list(one.gates) == list(other.gates)
    assert one.outcomes == other.outcomes == {"ok": 6}


def test_an_exception_in_a_progress_callback_is_raised_as_it_is(tmp_path: Path) -> None:
    class Failing(ragbed.Progress):
        def calls(self, model: str, state: object) -> None:
            raise ValueError("no display")

    with pytest.raises(ValueError, match="no display"):
        _run(tmp_path, progress=Failing())
    assert _run(tmp_path).outcomes == {"ok": 24}


def test_whole_numbers_are_the_same_settings_as_decimals(tmp_path: Path) -> None:
    options: dict[str, Any] = {"testbeds": "noise", "noise": 0, "limit": 2, "out": tmp_path / "run"}
    ragbed.run("scripted/oracle", DATA, **options)
    assert ragbed.run("scripted/oracle", DATA, temperature=0, top_p=1, **options).outcomes == {"ok": 2}


def test_a_run_that_cannot_go_on_names_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOBODY_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(RagbedError, match="cannot be called") as raised:
        ragbed.run("openai-api/nobody/x", DATA, testbeds="noise", noise=0, limit=5, timeout=0.1, out=tmp_path / "run")
    assert raised.value.__notes__ == [
        f"Finished cases are kept. Open them with ragbed.open_run('{tmp_path}/run'), or resume the run with "
        f"out='{tmp_path}/run'"
    ]
    assert ragbed.open_run(tmp_path / "run").outcomes["error"] == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": [3]}, r"limit=\[3\] is not valid. Use a string or a number"),
        ({"noise": 7}, "noise=7"),
        ({"noise": [0, None]}, r"noise=\[0, None\] is not valid. Use a string, a number or a list of these"),
        ({"positions": 3}, "positions=3 is not one of balanced, all"),
        ({"num_docs": [5, True]}, r"num_docs=\[5, True\] is not valid. Use a string, a number or a list of these"),
        ({"supporting": 6, "noise": None}, "supporting=6 exceeds num_docs=5. Increase `num_docs`"),
        ({"supporting": 1, "noise": 0.2}, "`noise` and supporting=1 both set"),
        ({"testbeds": "length", "noise": 0.2}, "length accepts no ratio; use `supporting`"),
        ({"cache": "yes"}, "cache='yes' is not one of auto, reuse, off"),
        ({"out": 3}, "out=3 is not a path"),
        ({"fail_under": 0.6}, "fail_under=0.6 is not valid. Use a string or a list of strings"),
        ({"progress": "yes"}, "progress='yes' is not valid. Use True, False or a ragbed.Progress"),
    ],
)
def test_a_wrong_parameter_is_a_usage_error_before_anything_is_stored(
    options: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        _run(tmp_path, **options)
    assert not (tmp_path / "run").exists()


def test_a_folder_without_a_run_and_a_missing_table_are_named(tmp_path: Path) -> None:
    with pytest.raises(RagbedError, match="no run"):
        ragbed.open_run(tmp_path)
    with pytest.raises(UsageError, match=r"URLs are not supported\. Use a local file or folder"):
        ragbed.open_run("s3://bucket/run")
    with pytest.raises(UsageError, match=r"has no table 'integration'\. Available tables: noise"):
        _run(tmp_path).table("integration")


def test_import_loads_the_public_names_only_when_they_are_used() -> None:
    program = """
import sys, ragbed
assert sorted(name for name in sys.modules if name.startswith("ragbed")) == ["ragbed"]
assert "click" not in sys.modules and "msgspec" not in sys.modules
assert set(ragbed.__all__) < set(dir(ragbed))
assert callable(ragbed.run) and all(hasattr(ragbed, name) for name in ragbed.__all__)
assert "click" not in sys.modules
try:
    ragbed.runn
except AttributeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("module 'ragbed' has no attribute 'runn'\n", "")


@pytest.mark.slow
def test_a_type_checker_reports_a_misspelt_option(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(_TYPED)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", "cache", "mine.py"]
    here = os.environ | {"MYPYPATH": str(Path(ragbed.__file__).parents[1])}
    done = subprocess.run(mypy, cwd=tmp_path, env=here, capture_output=True, text=True, check=False)
    told = re.findall(r"^mine.py:(\d): error: .* \[(.+)\]$", done.stdout, re.MULTILINE)
    assert told == [("5", "call-arg"), ("6", "arg-type"), ("7", "attr-defined")], done.stdout


_TYPED = """
import ragbed
run = ragbed.run(model="scripted/oracle", data="figure1", testbeds=["noise"], limit=8, cache="off")
rows: list[str] = [str(row["model"]) for row in run.table("noise")]
again: ragbed.Run = ragbed.open_run(run.folder)
ragbed.run(model="scripted/oracle", data="figure1", testbed="noise")
ragbed.run(model="scripted/oracle", data="figure1", repeats="five")
ragbed.runn
""".lstrip("\n")


def test_means_over_trials_are_the_rates_of_the_table(tmp_path: Path) -> None:
    """The trials of failed and filtered calls had no scores, so means were too high: 48.1 % instead of 41.7 %."""
    outcomes = ["ok", "ok", "error", "filtered", "truncated", "ok"]

    def say(case: Case) -> Completion:
        outcome = outcomes[int(case.item)]
        reply = f"It is gold-{case.item}." if outcome in ("ok", "truncated") else None
        return Completion(outcome=outcome, reply=reply, error="timeout: no" if outcome == "error" else None)  # type: ignore[arg-type]

    execute(make_job(tmp_path, len(outcomes), TalkingModel(say)), ask_nobody)
    (row,) = tabulate_run(tmp_path)
    records = ragbed.open_run(tmp_path).records()
    for score in ("correct", "code.correct", "paper.correct"):
        values = [record[f"score.{score}"] for record in records]
        assert all(isinstance(value, bool) for value in values)
        assert sum(values) / len(values) == row.rate(score)
    assert row.rate("correct") == 3 / 6
    assert [record["outcome"] for record in records if "score.unsure" not in record] == ["error", "filtered"]
