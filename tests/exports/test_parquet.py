"""Runs as Parquet."""

from __future__ import annotations

import json
from pathlib import Path

from pyarrow import parquet

from tests.cli.typed import type_command
from tests.exports.runs import make_run


def test_parquet_has_the_fields_of_the_lines(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    for to in ("parquet", "jsonl"):
        assert type_command("export", str(folder), "--to", to, "-o", str(tmp_path / to)).code == 0
    rows = parquet.read_table(tmp_path / "parquet").to_pylist()
    lines = [json.loads(line) for line in (tmp_path / "jsonl").read_text().splitlines()]
    assert [row["outcome"] for row in rows] == ["ok", "error", "ok"]
    assert (rows[1]["reply"], rows[1]["scores"]) == (None, None)
    for row, line in zip(rows, lines, strict=True):
        row["usage"] = dict(row["usage"]) if row["usage"] else None
        row["documents"] = [
            {name: value for name, value in one.items() if value is not None} for one in row["documents"]
        ]
        told = {name: value for name, value in row.items() if name in line}
        assert told == {name: value for name, value in line.items() if name != "feasible"}


def test_a_real_run_of_all_testbeds_fits_the_columns(tmp_path: Path) -> None:
    data = [word for kind in ("base", "int", "fact") for word in ("-d", f"ragbed-mini-zh_{kind}")]
    words = ("--limit", "2", "--no-cache", "--out", str(tmp_path / "run"))
    type_command("run", "-m", "scripted/gullible", *data, *words)
    done = type_command("export", str(tmp_path / "run"), "--to", "parquet", "-o", str(tmp_path / "p"), "--canonical")
    assert done.code == 0
    table = parquet.read_table(tmp_path / "p")
    assert set(table.column("testbed").to_pylist()) == {
        *("noise", "rejection", "integration", "counterfactual", "closed-book")
    }
    assert {row["scores"]["verdict"] for row in table.to_pylist()} > {"correct"}
