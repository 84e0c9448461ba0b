"""The command line: parsing and printing only; one file per command, heavy imports inside them.

To add a command: a module with one function of its name, and one line in COMMANDS.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from importlib import import_module
from keyword import iskeyword

import click

from ragbed import __version__
from ragbed.cli import renames
from ragbed.cli.console import say
from ragbed.errors import RagbedError, UsageError

COMMANDS = (
    "run",
    "status",
    "report",
    "compare",
    "leaderboard",
    "view",
    "diagnose",
    "judge",
    "score",
    "data",
    "cases",
    "lint",
    "synth",
    "build",
    "review",
    "export",
    "import",
    "merge",
    "demo",
    "doctor",
    "cache",
    "power",
    "paper",
)
"""In the order in which the help lists them: evaluate, understand, data, share, setup."""


class _Group(click.Group):
    """Knows the commands by name, and loads one when it is typed; all of them for the help, in our order."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.commands:
            return None
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = getattr(import_module(f"ragbed.cli.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in renames.COMMANDS:
            raise UsageError(renames.describe_command(args[0]))
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Group,
    commands=[click.Command(name) for name in COMMANDS],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="ragbed %(version)s")
def app() -> None:
    """A test bed for language models that are handed retrieved documents.

    It measures RGB's four abilities (noise robustness, negative rejection, information integration,
    counterfactual robustness) in English and Chinese. No telemetry, no login.

    Every option can also be set by its twin in the environment: RAGBED_NOISE for --noise.

    \b
    Examples:
      ragbed demo
      ragbed data get rgb
      ragbed lint en_refine
      ragbed cases en_refine -o cases.jsonl
    """


def main() -> None:
    """Runs the command line; errors for the user print as one line and set the exit code."""
    signal.signal(signal.SIGTERM, _end)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without UTF-8 shows escapes instead of failing
            stream.reconfigure(errors="backslashreplace")
    try:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on work may have to be finished
        sys.exit(app(standalone_mode=False))
    except RagbedError as error:
        say(f"ragbed: {error}")
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        say("ragbed: interrupted.")
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except MemoryError:
        say("ragbed: there is not enough memory. What is stored stays; with more, the same command goes on.")
        sys.exit(1)
    except OSError as error:  # what no file of ours is to blame for, as a full disk behind standard output
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        say(f"ragbed: {error.strerror or error}.")
        sys.exit(1)


def _end(*_: object) -> None:
    """Ends in good order when the system says so: files that are half written go."""
    sys.exit(143)
