"""Messages name options as the interface does that shows them: parameters in Python, options on the command line."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest

import ragbed
from ragbed.cli import app
from ragbed.cli.options import CommandLine
from ragbed.errors import option
from ragbed.text import quoted
from tests.cli.typed import type_command

_SOURCE = Path(ragbed.__file__).parent
_OPTION = re.compile(r"(?<![\w-])--[a-z]")
# Commands that a user can run, and CSS.
_SHELL = re.compile(r"ragbed |pip (?:install|download)|ray (?:start|status)|var\(|gcs-address")


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("num_docs", 0, "--num-docs 0"),
        ("from_", "rgb", "--from rgb"),
        ("from_", None, "--from"),
        ("files", "x.jsonl", "FILES x.jsonl"),
        ("votes", 3, "votes=3"),
        ("votes", None, "`votes`"),
    ],
)
def test_messages_name_options_as_the_user_types_them(name: str, value: object, shown: str) -> None:
    command = app.get_command(click.Context(app), "import")
    assert command is not None
    assert CommandLine(click.Context(command)).show(name, value) == shown
    assert option(name) == f"`{name}`"


def test_options_from_the_environment_are_shown_as_variables() -> None:
    words = ("run", "-m", "scripted/oracle", "-d", "figure1", "--reasoning-effort", "none")
    done = type_command(*words, env={"RAGBED_THINKING": "on"})
    assert "RAGBED_THINKING has no effect on scripted/oracle. Remove this option." in done.err
    done = type_command(*words, "--thinking", "on", env={"RAGBED_THINKING": "off"})
    assert "--thinking has no effect on scripted/oracle. Remove this option." in done.err


@pytest.mark.parametrize("variable", ["RAGBED_CLUSTER", "RAY_ADDRESS"])
def test_an_option_with_two_variables_is_shown_as_the_one_that_is_set(variable: str) -> None:
    done = type_command("run", "-m", "scripted/oracle", "-d", "figure1", "--engine", "ray", env={variable: "bad"})
    assert (done.code, f"{variable}=bad is not the address of a head node" in done.err) == (2, True), done.err


@pytest.mark.parametrize("value", ["maybe", "budget=-4"])
def test_the_value_of_thinking_is_not_shown_as_the_cost_limit(value: str) -> None:
    done = type_command("run", "-m", "scripted/oracle", "-d", "figure1", "--thinking", value)
    assert f"--thinking {value!r} is not valid. Use 'on', 'off' or 'budget=N'" in done.err


@pytest.mark.parametrize(
    ("system", "shown"), [("posix", "'runs/my demo' 'a$b' plain"), ("nt", '"runs/my demo" a$b plain')]
)
def test_paths_in_commands_have_the_quotes_of_the_shell(
    system: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragbed.text.os.name", system)
    words = quoted("runs/my demo", "a$b", "plain")
    monkeypatch.undo()  # pytest reads the name, too
    assert words == shown


def test_the_same_mistake_names_the_parameter_in_python_and_the_option_on_the_command_line() -> None:
    with pytest.raises(ragbed.UsageError, match=r"^num_docs=0 is not .* use testbeds=closed-book\.$"):
        ragbed.run("scripted/oracle", "figure1", num_docs=0)
    done = type_command("run", "-m", "scripted/oracle", "-d", "figure1", "--num-docs", "0")
    assert done.err.startswith("ragbed: --num-docs 0 is not ")
    assert done.err.endswith(" use --testbeds closed-book.\n")


def test_no_message_below_the_command_line_names_an_option() -> None:
    found = []
    for path in _SOURCE.rglob("*.py"):
        is_foreign = path.name in ("harness_tasks.py", "dialects.py")  # They contain commands of other tools.
        if is_foreign or "cli" in path.relative_to(_SOURCE).parts:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        documented = {id(part.value) for part in ast.walk(tree) if isinstance(part, ast.Expr)}
        texts = [
            part.value
            for part in ast.walk(tree)
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and id(part) not in documented
        ]
        found += [f"{path.name}: {text}" for text in texts if _OPTION.search(text) and not _SHELL.search(text)]
    assert found == []
