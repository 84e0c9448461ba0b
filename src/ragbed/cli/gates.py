"""What commands with gates share: how the gates are told, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.cli import options

if TYPE_CHECKING:
    from ragbed.analysis.gates import GateResult

junit_option = options.option(
    "--junit", type=options.LocalPath(), metavar="FILE", help="Write the gates as JUnit XML too."
)


def tell_gates(suite: str, checked: Sequence[GateResult], junit: Path | None) -> None:
    """Says how every gate stands.

    Raises:
        GateFailed: One did not hold.
    """
    from ragbed.analysis.gates import as_junit
    from ragbed.cli.console import say
    from ragbed.errors import GateFailed
    from ragbed.io.jsonl import write_whole

    for one in checked:
        say(f"gate {one.state}: {one.name}: {one.message}")
    if junit is not None:
        with write_whole(junit) as sink:
            sink.write(as_junit(suite, checked))
    if failed := [one for one in checked if one.state == "failed"]:
        raise GateFailed(f"{len(failed)} of {len(checked)} gates failed.")
