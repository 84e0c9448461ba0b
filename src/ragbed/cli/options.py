"""Options that several commands share, each with its twin in the environment."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ragbed.errors import UsageError


def _read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Takes the options of a TOML file, by their long names, as defaults."""
    if path is not None:
        try:
            options = tomllib.loads(path.read_text("utf-8"))
        except OSError as error:
            raise UsageError(f"--config {path} cannot be read: {error.strerror}.") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"--config {path} is not TOML: {error}.") from error
        known = {name: parameter.name for parameter in context.command.params for name in _long_names(parameter.opts)}
        for name in options:
            if name not in known:
                raise UsageError(f"--config {path}: {name!r} is no option of this command.")
        context.default_map = {str(known[name]): _as_text(value) for name, value in options.items()}
    return path


def _long_names(spellings: list[str]) -> list[str]:
    return [spelling.removeprefix("--") for spelling in spellings if spelling.startswith("--")]


def _as_text(value: object) -> object:
    """A TOML list is what a comma-separated option says."""
    return ",".join(map(str, value)) if isinstance(value, list) else value


Data: TypeAlias = Annotated[
    list[str],
    typer.Argument(metavar="DATA...", help="A file, NAME=FILE, or the name of data that `ragbed data list` shows."),
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Machine-readable summary as the last line on stdout.", envvar="RAGBED_JSON")
]
Config: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="TOML file with options by their long names.",
        envvar="RAGBED_CONFIG",
        callback=_read_config,
        is_eager=True,
    ),
]
Testbeds: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Comma-separated: noise, rejection, integration, counterfactual, closed-book. Default: all that fit.",
        envvar="RAGBED_TESTBEDS",
    ),
]
Noise: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Shares of distracting documents, as 0,0.2,2/3. Default: the paper's.", envvar="RAGBED_NOISE"),
]
Docs: TypeAlias = Annotated[int, typer.Option(help="Documents per question.", envvar="RAGBED_DOCS")]
Correct: TypeAlias = Annotated[
    str, typer.Option(help="Counterfactual: shares of true documents.", envvar="RAGBED_CORRECT")
]
Arms: TypeAlias = Annotated[
    str,
    typer.Option(
        help="What the distracting documents are: related (the paper's), random (of other questions), "
        "fixed (one supporting, ever more distracting, with a length-matched control).",
        envvar="RAGBED_ARMS",
    ),
]
Rotations: TypeAlias = Annotated[
    str, typer.Option(help="'all' asks every item with its documents at every slot.", envvar="RAGBED_ROTATIONS")
]
Profile: TypeAlias = Annotated[
    str, typer.Option(help="robust, paper, code-2023 or code-2024.", envvar="RAGBED_PROFILE")
]
Lang: TypeAlias = Annotated[str, typer.Option(help="Languages to take.", envvar="RAGBED_LANG")]
Limit: TypeAlias = Annotated[
    str | None,
    typer.Option(help="First N items of each dataset, or a fraction below 1 of them.", envvar="RAGBED_LIMIT"),
]
Seed: TypeAlias = Annotated[int, typer.Option(help="Of the layout.", envvar="RAGBED_SEED")]
Prompt: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="Folder with other instruction files (en/system.md, en/user.md, …).", envvar="RAGBED_PROMPT"),
]
