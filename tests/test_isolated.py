"""`scripts/isolated`, with which `make test` runs the tests: nothing that is left on a machine can help them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
_LOOK = """
import os, sys, tempfile
from pathlib import Path
Path.home().joinpath("new").touch()
print(sorted(os.listdir(Path.home())), os.listdir(tempfile.gettempdir()), "OPENAI_API_KEY" in os.environ)
print(Path(sys.argv[1]).exists(), os.getcwd(), Path.home().parent)
sys.exit(7)
"""


def test_a_command_sees_no_leftovers_and_leaves_none(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="left-", dir="/tmp") as left:
        (tmp_path / "left").touch()
        places = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "OPENAI_API_KEY": "k"}
        words = ["sh", str(ROOT / "scripts" / "isolated"), sys.executable, "-c", _LOOK, left]
        done = subprocess.run(words, env=os.environ | places, capture_output=True, text=True, check=False)
    seen, others = done.stdout.splitlines()
    visible, folder, place = others.split()
    assert (done.returncode, seen) == (7, "['new'] [] False"), done.stderr
    assert (visible == "True") == ("cannot hide /tmp" in done.stderr), "only root may hide /tmp"
    assert folder == str(ROOT)
    assert not Path(place).exists()


def test_pytest_refuses_to_start_beside_leftovers(tmp_path: Path) -> None:
    (tmp_path / "left").touch()
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_isolated.py", "--co"]
    environ = os.environ | {"ISOLATED": "1", "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    done = subprocess.run(words, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, f"there is {tmp_path}/left" in done.stderr) == (4, True), done.stderr
