"""Test `hf/` without its libraries."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from tests.cli.typed import type_command


def test_missing_libraries_are_named_with_the_install_command(tmp_path: Path) -> None:
    assert find_spec("torch") is None, "the environment of `make test` has no torch"
    done = type_command("run", "-m", f"hf/{tmp_path}", "-d", "figure1")
    assert done.code == 2
    assert "requires torch and transformers: pip install 'ragbed[hf]'" in done.err
