"""The command line: each command makes a specification of its options, calls its function and prints the result.

To add a command, write a specification whose docstring is the help, and list it in GROUPS.
"""

from __future__ import annotations

import inspect
import io
import os
import signal
import sys

import click

from ragbed import __version__
from ragbed.cli.console import say
from ragbed.cli.options import Command, write_sections
from ragbed.cli.renames import REMOVED_COMMANDS
from ragbed.errors import RagbedError, UsageError, explain_failed_write

GROUPS: dict[str, dict[str, str | dict[str, str]]] = {
    "Evaluate": {
        "run": "RunCommandSpec",
        "report": "ReportSpec",
        "status": "StatusSpec",
        "compare": "CompareSpec",
        "rank": "RankSpec",
    },
    "Understand": {"view": "ViewSpec", "diagnose": "DiagnoseSpec", "judge": "JudgeSpec"},
    "Data": {
        "data": {"get": "DownloadSpec", "list": "DatasetsSpec"},
        "lint": "LintSpec",
        "synth": "SynthesisSpec",
        "build": {"init": "BuildInitSpec", "run": "BuildSpec", "qa": "BuildQaSpec", "quality": "QualitySpec"},
        "review": "ReviewSpec",
    },
    "Share": {"export": "ExportSpec", "import": "ImportSpec", "merge": "MergeSpec"},
    "Setup": {"demo": "DemoSpec", "doctor": "DoctorSpec"},
}
"""The commands in the groups and the order of the help, with their specifications in `ragbed.api.job_specs`."""
_HELP = {
    "data": "Download datasets and small models, and list them.",
    "build": """Build a benchmark from feeds, web pages or documents.

    A recipe specifies the sources, the model that writes the questions, and how many items of each kind to build.

    \b
    Examples:
      ragbed build init docs/ -m openai/gpt-4o-mini -o handbook.toml
      ragbed build run handbook.toml
      ragbed build quality builds/handbook
    """,
}
"""The help of groups of commands."""
# Messages of other exceptions that Python and NumPy raise if there is not enough memory.
_NO_MEMORY = ("can't start new thread", "failed to map segment", "cannot allocate memory")
COMMANDS = {name: spec for specs in GROUPS.values() for name, spec in specs.items()}


class _Group(click.Group):
    """A command group that makes a command when it is used, and whose help lists the commands in sections."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        from ragbed.api import job_specs

        found = COMMANDS.get(cmd_name)
        if found is None:
            return None
        if isinstance(found, str):
            return Command(getattr(job_specs, found), cmd_name)
        commands: list[click.Command] = [Command(getattr(job_specs, spec), name) for name, spec in found.items()]
        return click.Group(cmd_name, commands, help=inspect.cleandoc(_HELP[cmd_name]))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; for a removed one, name what replaced it."""
        if successor := REMOVED_COMMANDS.get(args[0]):
            raise UsageError(f"`ragbed {args[0]}` was replaced by {successor}.")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, with one section per group."""
        limit = formatter.width - 6 - max(map(len, COMMANDS))
        commands = {name: self.get_command(ctx, name) for name in COMMANDS}
        texts = {name: command.get_short_help_str(limit) for name, command in commands.items() if command is not None}
        write_sections(formatter, {group: [(name, texts[name]) for name in names] for group, names in GROUPS.items()})


@click.group(
    cls=_Group,
    commands=[click.Command(name) for name in COMMANDS],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="ragbed %(version)s")
def app() -> None:
    """Benchmark how LLMs and RAG systems cope with noisy, missing, scattered or false context.

    ragbed measures the four abilities defined by RGB (noise robustness, negative rejection, information integration,
    counterfactual robustness) in English and Chinese. It sends no telemetry and needs no login.

    --help lists the most useful options of a command, and --help-all all of them. Every option can also be set with an
    environment variable, e.g. RAGBED_NOISE for --noise.

    \b
    Examples:
      ragbed demo
      ragbed data get rgb
      ragbed run -m openai/gpt-4o-mini -d en_refine -o runs/mini
      ragbed report runs/mini
    """


def main() -> None:
    """Run the command-line interface; a user error is printed as a single line and sets the exit code."""
    signal.signal(signal.SIGTERM, _end)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # escape unencodable characters instead of raising an error
            stream.reconfigure(encoding="utf-8" if os.name == "nt" else None, errors="backslashreplace")
    try:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # from now on, Ctrl-C raises KeyboardInterrupt
        sys.exit(app(standalone_mode=False))
    except RagbedError as error:
        say(f"ragbed: {error}")
        sys.exit(error.exit_code)
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption):  # suggest only the closest option
            nearest = list(error.possibilities or ())[:1]
            error = click.NoSuchOption(error.option_name, possibilities=nearest, ctx=error.ctx)
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        say("ragbed: interrupted.")
        sys.exit(130)
    except BrokenPipeError:  # the program reading the pipe, e.g. `head`, has exited
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (MemoryError, RuntimeError, ImportError) as error:
        if not isinstance(error, MemoryError) and not any(text in str(error) for text in _NO_MEMORY):
            raise
        say(f"ragbed: there is not enough memory ({error}). Close other programs, then rerun the same command.")
        sys.exit(1)
    except OSError as error:  # an error that no command handles, e.g. a full disk when output is redirected to a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        place = f"{error.filename}: " if error.filename else ""
        say(f"ragbed: {place}{explain_failed_write(error)}.")
        sys.exit(1)


def _end(*_: object) -> None:
    """Exit on SIGTERM, so that incomplete files are removed."""
    sys.exit(143)
