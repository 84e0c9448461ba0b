"""Error types of a run with examples, as in the paper's Tables 2, 4 and 6."""

from __future__ import annotations

from pathlib import Path

from ragbed.analysis.diagnosis.diagnosis_file import read_diagnoses
from ragbed.analysis.diagnosis.summary import read_error_rows
from tests.cli.typed import type_command


def test_a_diagnosed_run_has_a_row_per_error_type_with_an_example(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    words = ("-m", "scripted/last-doc", "-d", "ragbed-mini-en_base", "-d", "ragbed-mini-en_int", "--limit", "6")
    assert type_command("run", *words, "--cache", "off", "--out", run).code == 0
    assert read_error_rows(read_diagnoses([tmp_path / "run"])) == []
    assert type_command("diagnose", run).code == 0
    rows = read_error_rows(read_diagnoses([tmp_path / "run"]))
    assert {row.table for row in rows} <= {2, 4, 6}
    assert {row.testbed for row in rows} >= {"noise", "rejection"}
    for row in rows:
        assert row.question
        assert row.answer
        share = row.type.share
        assert 0 <= share.low <= share.value <= share.high <= 1
        assert row.type.errors >= 1
    told = type_command("report", run, "-f", "md").out
    assert "## Example errors" in told
