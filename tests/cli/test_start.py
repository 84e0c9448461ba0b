"""The command as such: help, version, and what it must not import to start quickly."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ragbed import __version__
from ragbed.cli.renames import REMOVED_COMMANDS
from tests.cli.typed import type_command

_HEAVY = ("aiohttp", "rich", "numpy", "asyncio", "ragbed.testbeds", "ragbed.analysis.linting", "ragbed.builder.web")


@pytest.mark.parametrize("command", ["demo", "data get"])
def test_every_command_has_help_with_examples(command: str) -> None:
    done = type_command(*command.split(), "--help")
    assert done.code == 0
    assert "Example" in done.out
    assert f"ragbed {command}" in done.out


def test_version_is_printed() -> None:
    assert type_command("--version").out == f"ragbed {__version__}\n"


def test_help_imports_nothing_heavy() -> None:
    program = f"import sys, ragbed.cli; print([name for name in {_HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("files", [12, 16])
def test_a_run_that_may_open_few_files_manages_or_says_so(tmp_path: Path, files: int) -> None:
    run = f"{sys.executable} -m ragbed run -m scripted/oracle -d figure1 --num-docs 2 --out {tmp_path / 'run'}"
    command = ["bash", "-c", f"ulimit -n {files}; exec {run}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0 or done.stderr.splitlines()[-1].startswith("ragbed: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("old", "new"), REMOVED_COMMANDS.items())
def test_a_removed_command_names_its_successor(old: str, new: str) -> None:
    done = type_command(old, "--help")
    assert (done.code, done.err) == (2, f"ragbed: `ragbed {old}` was replaced by {new}.\n")
    if command := re.match(r"`ragbed (\w+)", new):
        assert type_command(command[1], "--help").code == 0
