"""`ragbed status`: how a run stands, also while it is at work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli import options

if TYPE_CHECKING:
    from ragbed.runs.status import Status

run_argument = click.argument("run", type=options.LocalPath(), metavar="RUN")


@click.command()
@run_argument
@options.json_option
def status(run: Path, json: bool) -> None:
    """Show how far a run is, and what came of its calls; of a folder of runs, each of them.

    Every case that was asked is ok, refused (by the provider's filter) or an error. Calls that were in flight
    when a run was killed may have been billed without a reply to show for it, and are then asked again: they
    are counted, and the first few named. Nothing is written, so it can be used while the run is at work.

    \b
    Examples:
      ragbed status runs/qwen
      ragbed status runs/qwen --json
    """
    from ragbed.cli.console import print_json
    from ragbed.runs.status import read_status
    from ragbed.ui.viewer.find_runs import runs_in

    for one in runs_in([run]):
        told = read_status(one)
        _print(told, to_stderr=json)
        if json:
            print_json(told.as_json())


def _print(told: Status, *, to_stderr: bool) -> None:
    from ragbed.cli.console import console, print_table
    from ragbed.text import printable

    rows = []
    for model in told.models:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in model.errors.items()) or "–"
        done = f"{model.asked / model.planned:.1%}" if model.planned else "–"
        rows.append((model.name, model.planned, model.asked, done, model.ok, model.refused, model.error, kinds))
    columns = ("model", "planned", "asked", "done", "ok", "refused", "error", "kinds of errors")
    print_table(f"Run {told.run}", columns, rows, to_stderr=to_stderr)
    for line in _lines(told):
        console(to_stderr=to_stderr).print(printable(line), soft_wrap=True)


def _lines(told: Status) -> list[str]:
    from ragbed.text import counted

    repeated = f", each asked {told.repeats} times" if told.repeats > 1 else ""
    lines = [f"{counted(told.cases, 'case')}{repeated}; {told.infeasible:,} infeasible and never asked."]
    if told.an_error is not None:
        lines.append(f"The first error: {told.an_error}")
    if told.process is not None:
        lines.append(f"Process {told.process} is at work; {counted(told.in_flight, 'call')} in flight.")
    elif any(model.pending or model.error for model in told.models) or not told.models:
        lines.append("Not finished; the command that began it goes on with it.")
    if told.maybe_paid_twice:
        lines.append(
            "Calls under way when a session or a worker ended, so that their replies are lost: "
            f"{told.maybe_paid_twice:,}. Those that the provider had answered are paid twice once they are asked again."
        )
        lines += [f"  {call.model} {call.case} (repeat {call.repeat})" for call in told.maybe_paid_twice_first]
        if told.maybe_paid_twice > len(told.maybe_paid_twice_first):
            lines.append("  …")
    return lines
