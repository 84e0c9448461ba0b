"""Variables of options, e.g. RAGBED_NOISE, are for the command line: they change no result of an API function."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import ragbed
from tests.api.test_command_parity import COMMANDS
from tests.cli.typed import type_command

_PACKAGE = Path(ragbed.__file__).parent
DATA = "ragbed-mini-en_base"
_VALUES = {"noise": "0.8", "testbeds": "rejection", "lang": "zh", "limit": "1", "profile": "code-2024", "seed": "7"}
"""Values that would change the results below; other options get a value that is wrong for most of them."""


def _variables() -> dict[str, str]:
    found: dict[str, str] = {}
    for command in COMMANDS.values():
        for option in command.params:
            names = [option.envvar] if isinstance(option.envvar, str) else option.envvar or ()
            found |= {name: _VALUES.get(str(option.name), "1") for name in names}
    return {name: value for name, value in found.items() if name.startswith("RAGBED_")}


def _results(folder: Path) -> dict[str, Any]:
    runs = {
        model: ragbed.run(f"scripted/{model}", DATA, testbeds="noise", noise=0, limit=3, out=folder / model)
        for model in ("oracle", "refuser")
    }
    trials = ({**trial, "latency_s": None} for trial in runs["refuser"].trials())
    return {
        "run": (runs["refuser"].outcomes, runs["refuser"].metrics(), list(trials)),
        "cases": list(ragbed.cases(DATA, limit=2)),
        "compare": ragbed.compare(runs["oracle"], runs["refuser"]).records(),
        "diagnose": ragbed.diagnose(runs["refuser"]).records(),
        "export": ragbed.export(DATA, "jsonl", folder / "cases.jsonl", limit=2)["cases"],
        "judge": ragbed.judge(runs["oracle"], "scripted/echo", criteria="correct").records(),
        "lint": ragbed.lint(DATA, only="record")["findings"],
        "power": ragbed.power(drop=0.1),
        "report": ragbed.report(runs["oracle"], format="csv").records(),
        "synthesize": ragbed.synthesize(folder / "news", items=2, lang="en", workers=1)["manifest"],
    }


def test_the_variables_of_all_options_change_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = _variables()
    assert len(variables) > 60
    before = _results(tmp_path / "before")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert _results(tmp_path / "after") == before


def test_the_variable_of_a_repeatable_option_has_one_value_per_line(tmp_path: Path) -> None:
    (tmp_path / "my data").mkdir()
    for name in ("first", "second"):
        ragbed.synthesize(tmp_path / "my data" / name, items=2, lang="en", integration=0, counterfactual=0)
    places = [str(tmp_path / "my data" / name / "en_base.jsonl") for name in ("first", "second")]
    data = "\n".join(f"{name}={place}" for name, place in zip("ab", places, strict=True))
    words = ["run", "-m", "scripted/oracle", "--testbeds", "noise", "--noise", "0", "--out", str(tmp_path / "run")]
    done = type_command(*words, env={"RAGBED_DATA": data})
    assert done.code == 0, done.err
    assert "scripted/oracle on a " in done.out
    assert "scripted/oracle on b " in done.out


def _modules() -> list[Path]:
    below = [path for path in sorted(_PACKAGE.rglob("*.py")) if path.relative_to(_PACKAGE).parts[0] != "cli"]
    assert len(below) > 200
    return [path for path in below if path.name != "__main__.py"]


def test_one_module_below_the_command_line_uses_the_environment() -> None:
    users = [path for path in _modules() if re.search(r"os\.(environ|getenv|putenv)", _code(path))]
    assert [str(path.relative_to(_PACKAGE)) for path in users] == ["environment.py"]


def test_no_module_below_the_command_line_imports_click_or_prints() -> None:
    for path in _modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
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
    for path in _modules():
        assert set(re.findall(r"['\"](RAGBED_[A-Z_]+)['\"]", _code(path))) <= allowed, path
