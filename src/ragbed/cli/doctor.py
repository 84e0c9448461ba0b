"""`ragbed doctor`: what is installed, which back ends work, and the command that installs what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from ragbed.cli import options
from ragbed.environment import variables

if TYPE_CHECKING:
    from ragbed.models.checks import BackendCheck


@click.command()
@options.json_option
def doctor(json: bool) -> None:
    """Show which models, extras and plug-ins work here, and how to fix the rest.

    No model is called and nothing is downloaded; keys are only checked for being set. The presets are the
    paper's systems: how they are prompted is tested to the letter, which is all that could be tested without
    their weights.

    \b
    Examples:
      ragbed doctor
      ragbed doctor --json
    """
    import platform

    from ragbed import __version__
    from ragbed.cli.console import activation, console, print_json, print_table
    from ragbed.models.checks import CHECKS
    from ragbed.models.presets import PRESETS, TESTED

    checks = {name: check(variables()) for name, check in CHECKS.items()}
    rows = [
        (f"{name}/", "works" if check.works else "missing", check.found, check.mend) for name, check in checks.items()
    ]
    console(to_stderr=json).print(f"ragbed {__version__}, Python {platform.python_version()}, {platform.platform()}")
    if command := activation():
        console(to_stderr=json).print(f"Before you run a command of the column fix: {command}")
    print_table("Models", ("model", "state", "found", "fix"), rows, to_stderr=json)
    extras = _print_extras(to_stderr=json)
    print_table(
        "Presets",
        ("--preset", "weights", "state", "loads with"),
        [(name, preset.repository, TESTED, preset.loads_with) for name, preset in PRESETS.items()],
        to_stderr=json,
    )
    plugins = _check_plugins()
    if plugins:
        columns = ("family", "name", "package", "version", "state")
        print_table("Plug-ins", columns, [tuple(one.values()) for one in plugins], to_stderr=json)
    if json:
        presets = {
            name: {"weights": preset.repository, "state": TESTED, "loads_with": preset.loads_with}
            for name, preset in PRESETS.items()
        }
        here = {"ragbed": __version__, "python": platform.python_version()}
        print_json(here | {"models": checks, "extras": extras, "presets": presets, "plugins": plugins})


def _print_extras(*, to_stderr: bool) -> dict[str, BackendCheck]:
    """Print which extras are installed; return the checks by name."""
    from ragbed.cli.console import print_table
    from ragbed.models.checks import EXTRAS, check_extra

    extras = {name: check_extra(name) for name in EXTRAS}
    rows = [
        (name, EXTRAS[name][0], "works" if check.works else "missing", check.found, check.mend)
        for name, check in extras.items()
    ]
    print_table("Extras", ("extra", "for", "state", "found", "fix"), rows, to_stderr=to_stderr)
    return extras


def _check_plugins() -> list[dict[str, str]]:
    """What other packages bring, each imported once: a broken one is named here and hinders nobody."""
    from ragbed import plugins
    from ragbed.builder.search import ENGINES
    from ragbed.models import PROVIDERS
    from ragbed.retrieval import ENCODERS
    from ragbed.scoring import TRACKS
    from ragbed.testbeds import TESTBEDS

    own: dict[plugins.PluginFamily, Mapping[str, object]] = {
        plugins.MODELS: PROVIDERS,
        plugins.SCORERS: TRACKS,
        plugins.TESTBEDS: TESTBEDS,
        plugins.SEARCH: ENGINES,
        plugins.ENCODERS: ENCODERS,
    }
    return [
        {
            "family": one.family.name,
            "name": one.name,
            "package": one.package,
            "version": one.version,
            "state": problem or "works",
        }
        for one, problem in plugins.check_plugins(own)
    ]
