"""The command as such: help, version, and what it must not import to start quickly."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ragbed import __version__
from tests.cli.typed import type_command

_HEAVY = ("aiohttp", "rich", "asyncio", "ragbed.testbeds", "ragbed.lint", "ragbed.web")


def test_help_lists_every_command() -> None:
    done = type_command("--help")
    assert done.code == 0
    for command in ("demo", "cases", "lint", "export", "data"):
        assert f"  {command} " in done.out


@pytest.mark.parametrize("command", ["demo", "cases", "lint", "export", "data get", "data list", "data path"])
def test_every_command_has_help_with_examples(command: str) -> None:
    done = type_command(*command.split(), "--help")
    assert done.code == 0
    assert "Example" in done.out
    assert f"ragbed {command}" in done.out


def test_version_is_printed() -> None:
    assert type_command("--version").out == f"ragbed {__version__}\n"


def test_an_unknown_command_is_wrong_usage() -> None:
    assert type_command("cased").code == 2


def test_help_imports_nothing_heavy() -> None:
    program = f"import sys, ragbed.cli; print([name for name in {_HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
