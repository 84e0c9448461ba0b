"""Figures of the code structure and their limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches import ROOT
from benches.structure import COMMAND_MOST, LONG_LINES, Figure, measure_structure

_FILES = {
    "__init__.py": "",
    "main.py": "from ragbed.one import helper\nclass Report: ...\n",
    "one/__init__.py": "",
    "one/helper.py": "class Report: ...\nclass _Hidden: ...\n",
    "one/shared.py": "X = 1\n",
    "one/first.py": "from ragbed.one.shared import X\nclass Only: ...\n",
    "two/__init__.py": "from ragbed.one import shared\n",
    "two/long.py": "def long():\n" + "    x = 1\n" * LONG_LINES,
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name, text in _FILES.items():
        path = tmp_path / "ragbed" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_packages_shared_names_tiny_files_statements_and_long_functions_are_counted(source: Path) -> None:
    packages, shared, small, entries, statements, long, *_ = measure_structure(source)
    assert (packages.value, packages.names) == (2, ("one", "two"))
    assert (shared.value, shared.names) == (66.7, ("ragbed.main.Report", "ragbed.one.helper.Report"))
    assert (small.value, small.names) == (1, ("ragbed.one.helper",))
    assert (entries.value, entries.names) == (0, ())
    assert statements.value == 13 + LONG_LINES
    assert (long.value, long.names) == (1, ("ragbed.two.long.long",))
    assert [figure.passed for figure in (packages, shared)] == [True, False]


def test_command_modules_are_measured(tmp_path: Path) -> None:
    folder = tmp_path / "ragbed/cli"
    folder.mkdir(parents=True)
    command = "import click\n@click.command()\ndef short(): ...\n"
    (folder / "short.py").write_text(command)
    (folder / "long.py").write_text(command + "x = 1\n" * COMMAND_MOST)
    (folder / "helper.py").write_text("x = 1\n" * 1_000)
    *_, middle, long = measure_structure(tmp_path)
    assert (middle.value, middle.passed) == (3 + COMMAND_MOST / 2, True)
    assert (long.value, long.names) == (1, (f"ragbed.cli.long ({COMMAND_MOST + 3})",))


def test_the_code_keeps_its_limits() -> None:
    packages, shared, *_, middle, long = measure_structure(ROOT / "src")
    assert (middle.limit, middle.passed) == (150, True)
    assert (long.limit, long.passed) == (0, True), long.names
    assert (packages.limit, packages.passed) == (15, True), packages.names
    assert (shared.limit, shared.passed) == (3, True), shared.names


def test_a_figure_without_a_limit_always_passes() -> None:
    assert [Figure("x", 3, limit).passed for limit in (None, 3, 2)] == [True, True, False]
