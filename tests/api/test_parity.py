"""Every command has a function of the Python API, and every option a parameter of the same name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import click
import pytest

import ragbed

_PRINTING = {"json", "config"}
"""How the command line reads and prints: the API takes parameters and returns values."""
_SHOWING = {"progress"}
"""Parameters of the API only."""


@dataclass(frozen=True)
class Pair:
    """A command and the functions that do the same.

    Attributes:
        command: Module and name of the command below `ragbed.cli`.
        functions: The functions; the first takes every option.
        elsewhere: Options that are other functions, with these functions.
    """

    command: str
    functions: tuple[str, ...]
    elsewhere: dict[str, str] = field(default_factory=dict)


PAIRS = [
    Pair("run:run", ("run", "arun", "forecast"), {"dry_run": "forecast"}),
    Pair("demo:demo", ("demo",)),
]


def _command(name: str) -> click.Command:
    module, _, attribute = name.partition(":")
    command: click.Command = getattr(import_module(f"ragbed.cli.{module}"), attribute)
    return command


def _options(command: click.Command) -> set[str]:
    return {str(option.name) for option in command.params} - _PRINTING


def _parameters(function: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(function).parameters) - _SHOWING


@pytest.mark.parametrize("pair", PAIRS, ids=[pair.command for pair in PAIRS])
def test_every_option_is_a_parameter_and_the_other_way_round(pair: Pair) -> None:
    options = _options(_command(pair.command))
    assert set(pair.elsewhere) <= options
    for name in pair.functions:
        assert _parameters(getattr(ragbed, name)) == options - set(pair.elsewhere), name


def test_the_table_names_public_functions() -> None:
    named = {name for pair in PAIRS for name in (*pair.functions, *pair.elsewhere.values())}
    assert named <= set(ragbed.__all__)


def test_the_options_for_type_checkers_are_the_fields_of_the_spec() -> None:
    fields = {name: field.type for name, field in ragbed.RunSpec.__dataclass_fields__.items()}
    options = {name: getattr(kind, "__forward_arg__", kind) for name, kind in ragbed.RunOptions.__annotations__.items()}
    assert {name: kind for name, kind in fields.items() if name not in ("model", "data")} == options


def test_defaults_are_those_of_the_command_line() -> None:
    fields = {name: field.default for name, field in ragbed.RunSpec.__dataclass_fields__.items()}
    command = _command("run:run")
    for option in command.params:
        if str(option.name) in fields and str(option.name) not in ("model", "data"):
            default, typed = fields[str(option.name)], option.to_info_dict()["default"]
            assert str(typed) == str(default) or not (typed or default), option.name
