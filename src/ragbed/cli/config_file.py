"""`--config FILE`: options from a TOML file."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

import click

from ragbed.cli import renames
from ragbed.errors import UsageError


def read_config(context: click.Context, _: click.Parameter, path: Path | None) -> Path | None:
    """Use the options of a TOML file, by their long names, as defaults; the callback of `--config`.

    Raises:
        UsageError: The file cannot be read, or it names an unknown option or a wrong value.
    """
    if path is not None:
        import tomllib

        from ragbed.io.locations import read_regular

        try:
            options = tomllib.loads(read_regular(path).decode())
        except OSError as error:
            raise UsageError(f"--config {path} cannot be read: {error.strerror}. Check the path.") from error
        except (
            ValueError,
            RecursionError,
        ) as error:  # raised also for a number of 5,000 digits and for deeply nested lists
            raise UsageError(f"--config {path} is not TOML: {error}.") from error
        known = {
            name.removeprefix("--"): param
            for param in context.command.params
            for name in param.opts
            if isinstance(param, click.Option) and name.startswith("--") and param.expose_value
        }
        for name in options:
            if new := renames.OPTIONS.get(f"--{name}"):
                raise UsageError(f"--config {path}: {name!r} is now {new.removeprefix('--')!r}.")
            if new := renames.BUILD_OPTIONS.get(f"--{name}"):
                raise UsageError(f"--config {path}: {name!r} is now {new}.")
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                command = context.command_path
                raise UsageError(
                    f"--config {path}: {name!r} is not an option of this command.{hint} `{command} --help` lists them."
                )
        context.default_map = {
            str(known[name].name): _as_typed(known[name], value, f"--config {path}: {name}")
            for name, value in options.items()
        }
    return path


def _as_typed(option: click.Option, value: object, place: str) -> object:
    """Return a value as a user would type it, so that it is checked in the same way; a list is comma-separated."""
    if option.is_flag:
        if isinstance(value, bool):
            return value
        raise UsageError(f"{place} must be true or false.")
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(part, str | int | float) and not isinstance(part, bool) for part in values):
        raise UsageError(f"{place} must be a string, a number, or a list of these.")
    return [str(part) for part in values] if option.multiple else ",".join(map(str, values))
