"""A run that is killed at random moments loses no acknowledged result and repeats no call that has a result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ragbed.runs.execution import run
from ragbed.runs.status import read_status
from tests.runs.harness import (
    PATIENCE_S,
    SLOTS,
    ask_nobody,
    make_job,
    replies,
    serve,
    start,
    wait_until_asked,
)

_CASES = 1_600


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("times", [1, 2])
def test_a_signal_ends_a_run_soon_and_keeps_every_reply(
    number: signal.Signals, code: int, times: int, tmp_path: Path
) -> None:
    with serve(tmp_path / "calls") as endpoint:
        process = start(tmp_path / "run", _CASES, endpoint)
        wait_until_asked(endpoint, 100, process)
        for _ in range(times):
            if process.pid is not None and process.is_alive():
                os.kill(process.pid, number)
        process.join(PATIENCE_S)
        assert process.exitcode == code
        answered = len(endpoint.calls())
    kept = len(replies(tmp_path / "run"))
    assert answered - SLOTS <= kept <= answered
    status = read_status(tmp_path / "run")
    assert status.maybe_paid_twice <= SLOTS
    assert status.process is None


def test_a_run_at_work_can_be_looked_at_and_not_joined(tmp_path: Path) -> None:
    with serve(tmp_path / "calls", latency_s=0.02) as endpoint:
        process = start(tmp_path / "run", _CASES, endpoint)
        wait_until_asked(endpoint, 100, process)
        status = read_status(tmp_path / "run")
        second = start(tmp_path / "run", _CASES, endpoint)
        second.join(PATIENCE_S)
        process.kill()
        process.join()
    assert second.exitcode == 1
    assert (status.process, status.maybe_paid_twice) == (str(process.pid), 0)
    assert 0 < status.in_flight <= SLOTS
    assert status.models[0].asked == status.models[0].ok > 0
    after = read_status(tmp_path / "run")
    assert after.process is None
    assert 0 < after.maybe_paid_twice <= SLOTS


_HANGING = """
import socket, sys, time
def hang(*_, **__):
    print("looking", flush=True)
    time.sleep(1_000)
socket.getaddrinfo = hang
from ragbed.cli import main
main()
"""


def test_a_resolver_that_hangs_does_not_delay_the_end(tmp_path: Path) -> None:
    words = ["run", "-m", "openai-api/t/m", "-d", "figure1", "--num-docs", "2", "--out", str(tmp_path / "run")]
    environ = os.environ | {"T_BASE_URL": "http://model.test/v1", "RAGBED_CACHE_DIR": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", _HANGING, *words], env=environ, stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"looking\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 130


def _commits(log: bytes) -> list[int]:
    """Return the start of the last frame of each commit in a log of SQLite."""
    size = 24 + int.from_bytes(log[8:12], "big")
    starts = range(32, len(log) - size + 1, size)
    return [start for start in starts if int.from_bytes(log[start + 4 : start + 8], "big")]


@pytest.mark.parametrize("part", [0.0, 0.6])
def test_the_calls_in_the_damaged_part_of_a_log_are_repeated(part: float, tmp_path: Path) -> None:
    with serve(tmp_path / "calls") as endpoint:
        process = start(tmp_path / "run", _CASES, endpoint)
        wait_until_asked(endpoint, 40, process)  # before the first checkpoint, which moves everything to the file
        process.kill()
        process.join()
        log = tmp_path / "run" / "run.sqlite-wal"
        content = bytearray(log.read_bytes())
        commits = _commits(bytes(content))
        content[commits[int(part * (len(commits) - 2))] + 100] ^= 1
        log.write_bytes(content)
        run(make_job(tmp_path / "run", _CASES, endpoint.model()), ask_nobody)
    assert read_status(tmp_path / "run").models[0].ok == _CASES
