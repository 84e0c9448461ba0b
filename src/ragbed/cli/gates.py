"""Gates of `run` and `compare`: the option for JUnit XML, the messages and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.cli import help_groups, options

if TYPE_CHECKING:
    from ragbed.analysis.gates import GateResult

junit_option = options.option(
    "--junit",
    type=options.LocalPath(),
    metavar="FILE",
    group=help_groups.OUTPUT,
    help="File for the results of the gates, as JUnit XML.",
)


def tell_gates(suite: str, checked: Sequence[GateResult], junit: Path | None) -> None:
    """Print the state of every gate.

    Raises:
        GateFailed: A gate failed.
    """
    from ragbed.analysis.gates import as_junit
    from ragbed.cli.console import say
    from ragbed.errors import GateFailed
    from ragbed.io.jsonl import write_whole

    for gate in checked:
        say(f"gate {gate.state}: {gate.name}: {gate.message}")
    if junit is not None:
        with write_whole(junit) as sink:
            sink.write(as_junit(suite, checked))
    if failed := [gate for gate in checked if gate.state == "failed"]:
        raise GateFailed(f"{len(failed)} of {len(checked)} gates failed.")
