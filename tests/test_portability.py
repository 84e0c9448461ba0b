"""ragbed on a system without the modules and functions that only POSIX systems have (scripts/without_posix)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.runs.harness import replies_so_far
from tests.servers.mock_model import Behaviour, mock_model

HIDING = Path(__file__).parents[1] / "scripts" / "without_posix"
RAGBED = (sys.executable, "-m", "ragbed")
DATA = ("-d", "ragbed-mini-en_base", "--testbeds", "noise", "--noise", "0")


def _environ(**values: str) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(HIDING)} | values


def _type(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RAGBED, *words], cwd=folder, env=_environ(), capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["fcntl", "resource", "termios"])
def test_the_names_are_hidden(name: str) -> None:
    words = [sys.executable, "-c", f"import {name}"]
    done = subprocess.run(words, env=_environ(), capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError" in done.stderr


def test_a_run_is_stored_reported_and_viewed_as_elsewhere(tmp_path: Path) -> None:
    done = _type(tmp_path, "run", "-m", "scripted/oracle", *DATA, "--limit", "5", "--out", "run")
    assert (done.returncode, "The run is stored in run" in done.stderr) == (0, True), done.stderr
    assert "Warning" not in done.stderr
    again = _type(tmp_path, "run", "-m", "scripted/oracle", *DATA, "--limit", "5", "--out", "run")
    assert again.returncode == 0, again.stderr
    for words in (("status", "run"), ("report", "run"), ("export", "run", "--to", "jsonl", "-o", "run.jsonl")):
        assert _type(tmp_path, *words).returncode == 0
    assert len((tmp_path / "run.jsonl").read_bytes().splitlines()) == 5


def test_ctrl_c_ends_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    with mock_model(Behaviour(latency_s=0.05, slots=2)) as url:
        environ = _environ(TEST_BASE_URL=url, TEST_API_KEY="k")
        options = ("--out", "run", "--cache", "off", "--max-connections", "2")
        words = [*RAGBED, "run", "-m", "openai-api/test/m", *DATA, *options]
        with subprocess.Popen(words, cwd=tmp_path, env=environ, stderr=subprocess.PIPE, text=True) as run:
            while not replies_so_far(tmp_path / "run") and run.poll() is None:
                time.sleep(0.05)
            run.send_signal(signal.SIGINT)
            _, err = run.communicate(timeout=60)
        assert run.returncode == 130, err
        resumed = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert resumed.returncode == 0, resumed.stderr
