"""ARCHITECTURE.md and CONTRIBUTING.md match the repository."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "ragbed"


def _read(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def test_every_package_has_one_paragraph() -> None:
    packages = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
    assert sorted(re.findall(r"^\*\*`(\w+)`\*\*", _read("ARCHITECTURE.md"), re.MULTILINE)) == packages


def test_the_documented_layers_are_the_enforced_ones() -> None:
    (contract,) = tomllib.loads(_read("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    rows = re.findall(r"^\| (`\w+`(?: · `\w+`)*) \|$", _read("ARCHITECTURE.md"), re.MULTILINE)
    assert ["__main__", *(row.replace("`", "").replace("·", "|") for row in rows)] == contract["layers"]


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_named_folders_and_files_exist(page: str) -> None:
    named = re.findall(r"`((?:[\w.-]+/)+(?:[\w-]+\.(?:py|md|js|toml))?)`", _read(page))
    assert len(named) > 10
    missing = [
        path
        for path in named
        if path != "site/"  # built by `make docs`
        and "/a/" not in path  # an example
        and not any((folder / path).exists() for folder in (ROOT, PACKAGE, *PACKAGE.iterdir()))
    ]
    assert missing == []
