"""The API takes its settings from parameters: options in environment variables are for the command line only."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import ragbed
from ragbed.cli.run import run as run_command

_PACKAGE = Path(ragbed.__file__).parent
_VALUES = {
    "data": "zh_base",
    "distractors": "random",
    "engine": "ray",
    "lang": "zh",
    "limit": "1",
    "model": "scripted/refuser",
    "noise": "0.8",
    "num_docs": "2",
    "out": "elsewhere",
    "positions": "all",
    "profile": "code-2024",
    "repeats": "3",
    "seed": "7",
    "shard": "1/2",
    "strategies": "quote",
    "testbeds": "rejection",
}
"""Values that would change the run below; other options get a value that is wrong for most of them."""
_RUN: dict[str, Any] = {"model": "scripted/oracle", "data": "ragbed-mini-en_base", "testbeds": "noise", "limit": 4}


def _variables() -> dict[str, str]:
    """Every environment variable of an option of `ragbed run`, with a value that would change or break the run."""
    found: dict[str, str] = {}
    for option in run_command.params:
        names = [option.envvar] if isinstance(option.envvar, str) else option.envvar or ()
        found |= {name: _VALUES.get(str(option.name), "1") for name in names}
    return found


def _result(folder: Path) -> tuple[object, ...]:
    run = ragbed.run(**_RUN, out=folder)
    trials = [{key: value for key, value in trial.items() if key != "latency_s"} for trial in run.trials()]
    return run.outcomes, run.metrics(), trials


def test_most_options_have_a_variable() -> None:
    assert len(_variables()) > 35
    assert {"RAGBED_LIMIT", "RAGBED_JSON", "RAGBED_NOISE"} < set(_variables())


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    """The result without variables."""
    return _result(tmp_path_factory.mktemp("runs") / "before")


@pytest.mark.parametrize("name", sorted(_variables()))
def test_the_variable_of_an_option_changes_no_result(
    name: str, before: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, _variables()[name])
    assert _result(tmp_path / "after") == before


def test_all_variables_together_change_no_result(
    before: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in _variables().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    assert _result(tmp_path / "after") == before
    assert not (tmp_path / "elsewhere").exists()


def _modules() -> list[Path]:
    below = [path for path in sorted(_PACKAGE.rglob("*.py")) if path.relative_to(_PACKAGE).parts[0] != "cli"]
    assert len(below) > 200
    return [path for path in below if path.name != "__main__.py"]


def test_one_module_below_the_command_line_uses_the_environment() -> None:
    users = [path for path in _modules() if re.search(r"os\.(environ|getenv|putenv)", _code(path))]
    assert [str(path.relative_to(_PACKAGE)) for path in users] == ["environment.py"]


def test_no_module_below_the_command_line_imports_click_or_prints() -> None:
    for path in _modules():
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
                assert not any(name.split(".")[0] == "click" for name in names), path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", path


@cache
def _code(path: Path) -> str:
    """A module without its comments and docstrings."""
    return ast.unparse(ast.parse(path.read_text("utf-8")))


def test_no_module_below_the_command_line_reads_the_variable_of_an_option() -> None:
    allowed = {"RAGBED_DATA_DIR", "RAGBED_CACHE_DIR"}
    options = set(_variables())
    for path in _modules():
        named = set(re.findall(r"['\"](RAGBED_[A-Z_]+)['\"]", _code(path)))
        assert named <= allowed, path
        assert not named & options, path
