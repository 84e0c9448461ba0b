"""Files that an earlier version wrote still open: a run, a cassette and labels (tests/fixtures/version-0)."""

from __future__ import annotations

import hashlib
import json
import lzma
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ragbed.analysis.judging.labels import read_labels
from tests.cli.typed import type_command

FIXTURES = Path(__file__).parents[1] / "fixtures" / "version-0"
ASKED = ["-m", "scripted/first-doc", "-d", "ragbed-mini-en_base", "-d", "ragbed-mini-zh_fact", "--limit", "3"]
TRIALS_SHA256 = "78ca3abbcc764f29c2a18d00e53334d022073ccc54c82b459d4ebbf5d12f3a1f"
"""Hash of case, model, repeat, outcome, response and scores of all 27 trials, as the earlier version computed them."""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.sqlite").write_bytes(lzma.decompress((FIXTURES / "run.sqlite.xz").read_bytes()))
    return folder


def _digest(run: Path) -> str:
    out = run.parent / "trials.jsonl"
    assert type_command("export", str(run), "--to", "jsonl", "--canonical", "-o", str(out)).code == 0
    digest = hashlib.sha256()
    for line in out.read_text("utf-8").splitlines():
        trial = json.loads(line)
        assert trial["scores"].pop("unsure") is False  # scores of later versions
        values = [trial[name] for name in ("case", "model", "repeat", "outcome", "reply", "scores")]
        digest.update(json.dumps(values, sort_keys=True, ensure_ascii=False).encode())
    return digest.hexdigest()


def test_a_stored_run_has_the_same_trials_and_scores(run: Path) -> None:
    assert _digest(run) == TRIALS_SHA256


def test_a_stored_run_is_resumed_without_another_call(run: Path) -> None:
    done = type_command("run", *ASKED, "--out", str(run), "--no-cache")
    assert done.code == 0, done.err
    with closing(sqlite3.connect(run / "run.sqlite")) as database:
        assert database.execute("SELECT DISTINCT session FROM results").fetchall() == [(1,)]
    assert _digest(run) == TRIALS_SHA256


def test_the_old_default_of_max_tokens_is_accepted_only_in_a_run_of_the_earlier_version(
    run: Path, tmp_path: Path
) -> None:
    for limit in ("auto", "256", "auto"):  # the first session upgrades the file
        done = type_command("run", *ASKED, "--out", str(run), "--no-cache", "--max-tokens", limit)
        assert done.code == 0, done.err
    recent = ["run", *ASKED, "--out", str(tmp_path / "recent"), "--no-cache", "--max-tokens"]
    assert type_command(*recent, "256").code == 0
    done = type_command(*recent, "auto")
    assert done.code == 2
    assert "created with --max-tokens 256, but this command uses --max-tokens auto" in done.err


def test_a_stored_cassette_becomes_the_same_run(tmp_path: Path) -> None:
    replayed = tmp_path / "run"
    done = type_command("import", str(FIXTURES / "run.cassette"), "--from", "cassette", "--out", str(replayed))
    assert done.code == 0, done.err
    assert _digest(replayed) == TRIALS_SHA256


def test_stored_labels_are_read() -> None:
    labels = read_labels(FIXTURES / "labels.jsonl")
    assert [agreed.value for agreed in labels.agreed.values()] == [number % 2 == 0 for number in range(11)]
    assert not labels.left_out
