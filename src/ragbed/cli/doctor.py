"""`ragbed doctor`: check this installation, and suggest fixes for problems."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import click

from ragbed.cli import options
from ragbed.cli.console import activation, console, print_json, print_table

if TYPE_CHECKING:
    from ragbed.models.checks import BackendCheck


@click.command()
@options.json_option
def doctor(json: bool) -> None:
    """Check which models and extras work, and suggest fixes.

    No model is called and nothing is downloaded; for API keys, ragbed only checks whether they are set. The presets
    reproduce systems from the paper. Their prompts are tested against the original code, but not with the original
    weights.

    \b
    Examples:
      ragbed doctor
      ragbed doctor --json
    """
    from ragbed.api import setup
    from ragbed.models.checks import EXTRAS

    found = setup.doctor()
    versions = f"ragbed {found.versions['ragbed']}, Python {found.versions['python']}"
    console(to_stderr=json).print(f"{versions}, {platform.platform()}")
    if command := activation():
        console(to_stderr=json).print(f"Before you run a command from the fix column, run: {command}")
    rows = [(f"{name}/", *_row(check)) for name, check in found.models.items()]
    print_table("Models", ("model", "state", "found", "fix"), rows, to_stderr=json)
    rows = [(name, EXTRAS[name][0], *_row(check)) for name, check in found.extras.items()]
    print_table("Extras", ("extra", "for", "state", "found", "fix"), rows, to_stderr=json)
    presets = [(name, *preset.values()) for name, preset in found.presets.items()]
    print_table("Presets", ("--preset", "weights", "state", "loads with"), presets, to_stderr=json)
    if found.plugins:
        columns = ("family", "name", "package", "version", "state")
        print_table("Plug-ins", columns, [tuple(plugin.values()) for plugin in found.plugins], to_stderr=json)
    if json:
        checks = {"models": found.models, "extras": found.extras, "presets": found.presets, "plugins": found.plugins}
        print_json({**found.versions, **checks})


def _row(check: BackendCheck) -> tuple[str, ...]:
    return ("works" if check.works else "missing", check.found, check.fix)
