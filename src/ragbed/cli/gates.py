"""Gates for `run` and `compare`: the JUnit XML option, the messages and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragbed.cli import help_groups, options
from ragbed.cli.console import say
from ragbed.errors import GateFailed
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.analysis.gates import GateResult

junit_option = options.option(
    "--junit",
    type=options.LocalPath(),
    metavar="FILE",
    group=help_groups.OUTPUT,
    help="JUnit XML file to write the gate results to.",
)


def tell_gates(gates: Sequence[GateResult]) -> None:
    """Print the result of every gate.

    Raises:
        GateFailed: A gate failed.
    """
    for gate in gates:
        say(f"gate {gate.state}: {gate.name}: {gate.message}")
    if failed := [gate for gate in gates if gate.state == "failed"]:
        raise GateFailed(f"{len(failed)} of {counted(len(gates), 'gate')} failed.")
