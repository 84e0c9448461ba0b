"""`ragbed doctor`: what is installed, which back ends work, and the command that mends what is missing."""

from __future__ import annotations

import click

from ragbed.cli import options


@click.command()
@options.json_option
def doctor(json: bool) -> None:
    """Show which models can be asked here, and what is missing for the others.

    Nothing is asked and nothing is downloaded; of keys it says only whether they are set. The presets are the
    paper's systems: how they are prompted is tested to the letter, which is all that could be tested without
    their weights.

    \b
    Examples:
      ragbed doctor
      ragbed doctor --json
    """
    import os
    import platform

    from ragbed import __version__
    from ragbed.cli.console import console, print_json, print_table
    from ragbed.models.checkup import CHECKS
    from ragbed.models.presets import PRESETS, TESTED

    checks = {name: check(os.environ) for name, check in CHECKS.items()}
    rows = [
        (f"{name}/", "works" if check.works else "missing", check.found, check.mend) for name, check in checks.items()
    ]
    console(to_stderr=json).print(f"ragbed {__version__}, Python {platform.python_version()}, {platform.platform()}")
    print_table("Models", ("model", "state", "found", "to mend it"), rows, to_stderr=json)
    print_table(
        "Presets",
        ("--preset", "weights", "state", "loads with"),
        [(name, preset.repository, TESTED, preset.loads_with) for name, preset in PRESETS.items()],
        to_stderr=json,
    )
    if json:
        presets = {
            name: {"weights": preset.repository, "state": TESTED, "loads_with": preset.loads_with}
            for name, preset in PRESETS.items()
        }
        print_json({"ragbed": __version__, "python": platform.python_version(), "models": checks, "presets": presets})
