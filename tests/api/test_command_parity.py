"""Every command has a function of the Python API, and every option a parameter of the same name."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass

import click
import pytest

import ragbed
from ragbed.cli import app

RENAMED = {"build run": "build", "data get": "download", "data list": "datasets", "import": "import_results"}
RENAMED |= {"synth": "synthesize"}
"""Commands whose function has another name."""
ELSEWHERE = {"run": ("run", "forecast")}
"""A command with several functions."""
PRINTING = {"json"}
"""Options that choose what the command line prints."""
API_ONLY = {"progress"}


@dataclass(frozen=True)
class Found:
    """A command without subcommands, or a group that can be called itself."""

    name: str
    command: click.Command


def _commands(command: click.Group, prefix: str = "") -> Iterator[Found]:
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        if not isinstance(inner, click.Group) or inner.invoke_without_command:
            yield Found(f"{prefix}{name}", inner)
        if isinstance(inner, click.Group):
            yield from _commands(inner, f"{prefix}{name} ")


COMMANDS = {found.name: found.command for found in _commands(app)}
FUNCTIONS = {name: RENAMED.get(name, name.replace(" ", "_")) for name in COMMANDS if name not in ELSEWHERE}


def _long_name(parameter: click.Parameter) -> str:
    """Return the parameter that an option must have: its long name, with `_` at the end where Python needs it."""
    long = next((name for name in parameter.opts if name.startswith("--")), parameter.name or "")
    name = long.removeprefix("--").replace("-", "_")
    return f"{name}_" if name in ("from", "import", "open", "all") else name


def _options(name: str) -> set[str]:
    return {_long_name(one) for one in COMMANDS[name].params if one.expose_value} - PRINTING


def test_every_command_has_a_function() -> None:
    assert {*FUNCTIONS.values(), *ELSEWHERE["run"]} <= set(ragbed.__all__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_option_is_a_parameter_and_the_other_way_round(name: str) -> None:
    assert set(inspect.signature(getattr(ragbed, FUNCTIONS[name])).parameters) - API_ONLY == _options(name)


@pytest.mark.parametrize("name", ELSEWHERE["run"])
def test_every_option_of_run_is_a_parameter_and_the_other_way_round(name: str) -> None:
    parameters = set(inspect.signature(getattr(ragbed, name)).parameters) - API_ONLY
    assert parameters == _options("run") - {"dry_run"}, "forecast() is the dry run"
