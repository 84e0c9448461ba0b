"""Runs as Parquet."""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

from ragbed.runs.execution import run
from ragbed.schema import Completion, Message, Served, Step, ToolCall
from tests.cli.typed import type_command
from tests.interop.exports.runs import make_own_rag_run, make_run
from tests.runs.harness import TalkingModel, ask_nobody, make_job


def test_parquet_has_the_fields_of_the_lines(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    for to in ("parquet", "jsonl"):
        assert type_command("export", str(folder), "--to", to, "-o", str(tmp_path / to)).code == 0
    rows = parquet.read_table(tmp_path / "parquet").to_pylist()
    lines = [json.loads(line) for line in (tmp_path / "jsonl").read_text("utf-8").splitlines()]
    assert [row["outcome"] for row in rows] == ["ok", "error", "ok"]
    assert (rows[1]["reply"], rows[1]["score.correct"], rows[1]["score.unsure"]) == (None, False, None)
    for row, line in zip(rows, lines, strict=True):
        scores, usage = line.pop("scores"), line.pop("usage") or {}
        labels = {"code.label": json.dumps(scores["code.label"])} if "code.label" in scores else {}
        assert {name: row.pop(f"score.{name}") for name in scores} == scores | labels
        assert row.pop("tokens_in") == usage.get("in")
        nested = {name: json.loads(row[name]) for name, value in line.items() if isinstance(value, list | dict)}
        assert row | nested | line == row | nested


def test_retrieved_passages_have_columns(tmp_path: Path) -> None:
    folder = make_own_rag_run(tmp_path / "run")
    assert type_command("export", str(folder), "--to", "parquet", "-o", str(tmp_path / "p")).code == 0
    row = parquet.read_table(tmp_path / "p").to_pylist()[0]
    assert [one["id"] for one in json.loads(row["retrieved"])] == ["a0", "page 4", "b1"]
    assert ([one["stance"] for one in json.loads(row["citations"])], row["corpus"]) == (["supports"], "c0")
    assert (row["score.retrieval_told"], row["score.cited_supports"]) == (True, 1.0)


def test_what_the_server_reports_and_tool_calls_are_exported(tmp_path: Path) -> None:
    call = ToolCall(id="1", name="search", arguments="{}", extra={"signature": "s"})
    messages = (Message(role="assistant", content="", calls=(call,)), Message(role="tool", content="-", call="1"))
    completion = Completion(
        outcome="ok", reply="It is gold-0.", max_tokens=4096, served=Served(model="m-1", id="r-1"),
        steps=(Step(messages=messages, reply="It is gold-0.", calls=(call,)),),
    )  # fmt: skip
    run(make_job(tmp_path / "run", 1, TalkingModel(lambda _: completion)), ask_nobody)
    done = type_command("export", str(tmp_path / "run"), "--to", "parquet", "-o", str(tmp_path / "p"))
    assert done.code == 0, done.err
    (row,) = parquet.read_table(tmp_path / "p").to_pylist()
    assert (row["max_tokens"], json.loads(row["served"])["id"]) == (4096, "r-1")
    (step,) = json.loads(row["steps"])
    assert step["calls"] == step["messages"][0]["calls"]
    assert step["calls"][0]["extra"] == {"signature": "s"}


def test_a_real_run_of_all_testbeds_fits_the_columns(tmp_path: Path) -> None:
    data = [word for kind in ("base", "int", "fact") for word in ("-d", f"ragbed-mini-zh_{kind}")]
    words = ("--limit", "2", "--cache", "off", "--out", str(tmp_path / "run"))
    type_command("run", "-m", "scripted/gullible", *data, *words)
    done = type_command("export", str(tmp_path / "run"), "--to", "parquet", "-o", str(tmp_path / "p"), "--canonical")
    assert done.code == 0
    table = parquet.read_table(tmp_path / "p")
    assert set(table.column("testbed").to_pylist()) == {
        *("noise", "rejection", "integration", "counterfactual", "closed-book")
    }
    assert {row["score.verdict"] for row in table.to_pylist()} > {"correct"}


@pytest.fixture(scope="module")
def large_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of more than one row group, with replies that do not compress."""
    draw = random.Random(0)
    folder = tmp_path_factory.mktemp("large") / "run"
    model = TalkingModel(lambda _: Completion(outcome="ok", reply=draw.randbytes(100).hex()))
    run(make_job(folder, 1_100, model), ask_nobody)
    return folder


@pytest.mark.parametrize(("to", "output"), [("parquet", "full.out"), ("parquet", "/dev/full"), ("jsonl", "full.out")])
def test_a_full_disk_is_reported_with_the_output(large_run: Path, tmp_path: Path, to: str, output: str) -> None:
    """Limit the file size, because a full disk needs root to set up."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ragbed", "export", str(large_run), "--to", to, "-o", output],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)),
        capture_output=True, text=True, cwd=tmp_path, env=os.environ, check=False,
    )  # fmt: skip
    full = "No space left on device. Free disk space and rerun the same command"
    reason = full if output == "/dev/full" else "File too large"
    assert (done.returncode, done.stderr) == (1, f"ragbed: {output} cannot be written: {reason}.\n")
    assert not list(tmp_path.iterdir())
