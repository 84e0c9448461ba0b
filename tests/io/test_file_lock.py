from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ragbed.io.file_lock import LockHeld, find_owner, lock_file

_HOLD = """
import sys, time
from pathlib import Path
from ragbed.io.file_lock import lock_file
lock = lock_file(Path(sys.argv[1]))
print("locked", flush=True)
time.sleep(60)
"""
_WITHOUT_FCNTL = """
import sys
sys.modules["fcntl"] = None
from ragbed.cli import main
main()
"""


def test_a_second_lock_names_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert find_owner(path) is None
    with lock_file(path):
        assert find_owner(path) == str(os.getpid())
        with pytest.raises(LockHeld, match=rf"lock is locked by process {os.getpid()}\."):
            lock_file(path, wait_s=0)
    assert find_owner(path) is None
    lock_file(path).close()


def test_a_killed_process_releases_its_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", _HOLD, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        assert find_owner(path) == str(process.pid)
        process.kill()
    assert find_owner(path) is None
    lock_file(path).close()


def test_a_lock_file_that_is_read_only_can_be_probed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with lock_file(path):
        path.chmod(0o444)
        assert find_owner(path) == str(os.getpid())


def test_a_run_works_without_fcntl(tmp_path: Path) -> None:
    words = ["run", "-m", "baseline/lexical", "-d", "ragbed-mini-en_base", "--limit", "5", "-o", "out"]
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_FCNTL, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "run.sqlite").is_file()
    assert "baseline/lexical" in done.stdout
