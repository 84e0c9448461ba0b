"""Gates for `run` and `compare`: the JUnit XML option, the messages and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragbed.cli.console import say
from ragbed.errors import GateFailed, UsageError
from ragbed.text import counted

if TYPE_CHECKING:
    from pathlib import Path

    from ragbed.analysis.gates import GateResult
    from ragbed.api.spec import RunSpec


def tell_gates(gates: Sequence[GateResult]) -> None:
    """Print the result of every gate.

    Raises:
        GateFailed: A gate failed.
    """
    for gate in gates:
        say(f"gate {gate.state}: {gate.name}: {gate.message}")
    if failed := [gate for gate in gates if gate.state == "failed"]:
        raise GateFailed(f"{len(failed)} of {counted(len(gates), 'gate')} failed.")


def tell_run_gates(spec: RunSpec, folder: Path, *, has_errors: bool) -> None:
    """Check the gates of a run in which every case has a result, and print the results.

    Args:
        spec: The run's options.
        folder: Folder of the run.
        has_errors: Whether cases ended in an error. A gate may fail or have no value for this reason alone, so this is
            only printed.

    Raises:
        GateFailed: A gate failed.
    """
    from ragbed.api.jobs import check_gates

    try:
        tell_gates(check_gates(spec, folder))
    except (GateFailed, UsageError) as failure:
        if not has_errors:
            raise
        say(f"{failure} The errors may be the cause, so the exit code is 3.")


def say_unchecked(gates: Sequence[str]) -> None:
    """Print that the gates, if there are any, were not checked."""
    if gates:
        say("The gates were not checked, because some cases have no result.")
