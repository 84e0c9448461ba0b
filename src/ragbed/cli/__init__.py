"""The command line: parsing and printing only; one file per command, heavy imports inside them.

To add a command: a module with one function, and one line in COMMANDS.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from ragbed import __version__
from ragbed.cli import cases, data, demo, export, lint
from ragbed.cli.console import say
from ragbed.errors import RagbedError

app = typer.Typer(
    name="ragbed",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # rich's help costs 0.13 s at every start
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

COMMANDS = (demo.demo, cases.cases, lint.lint, export.export)
"""In the order in which the help lists them."""

for _command in COMMANDS:
    app.command()(_command)
app.add_typer(data.app, name="data")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ragbed {__version__}")
        raise typer.Exit


@app.callback()
def _ragbed(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A test bed for language models that are handed retrieved documents.

    It measures RGB's four abilities (noise robustness, negative rejection, information integration,
    counterfactual robustness) in English and Chinese. No telemetry, no login.

    \b
    Examples:
      ragbed demo
      ragbed data get rgb
      ragbed lint en_refine
      ragbed cases en_refine -o cases.jsonl
    """


def main() -> None:
    """Runs the command line; errors for the user print as one line and set the exit code."""
    try:
        app()
    except RagbedError as error:
        say(f"ragbed: {error}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        say("ragbed: interrupted.")
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
