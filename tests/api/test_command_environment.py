"""Variables of options, e.g. RAGBED_NOISE, are for the command line: they change no result of an API function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ragbed
from tests.api.test_command_parity import COMMANDS
from tests.cli.typed import type_command

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
    return {
        "cases": ragbed.cases(DATA, limit=2).records(),
        "compare": ragbed.compare(runs["oracle"], runs["refuser"]).records(),
        "diagnose": ragbed.diagnose(runs["refuser"]).records(),
        "export": ragbed.export(DATA, "jsonl", folder / "cases.jsonl", limit=2).count,
        "judge": ragbed.judge(runs["oracle"], "scripted/echo", criteria="correct").records(),
        "lint": ragbed.lint(DATA, only="record").totals,
        "power": ragbed.power(drop=0.1),
        "report": ragbed.report(runs["oracle"], format="csv").records(),
        "synthesize": ragbed.synthesize(folder / "news", items=2, lang="en", workers=1).manifest,
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
    assert "scripted/oracle on a," in done.out
    assert "scripted/oracle on b," in done.out
