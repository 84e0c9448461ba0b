"""`ragbed status`: show the progress of an active or finished run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragbed.api.specification import Opt
from ragbed.cli.console import print_json, print_lines, print_table
from ragbed.cli.options import Json, command
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.runs.status import Status

_RUN = Opt("A run, or a folder of runs.", metavar="RUN", is_argument=True)


@command()
def status(*, run: Annotated[Path, _RUN], json: Json = False) -> None:
    """Show the progress and outcome counts of a run.

    If RUN is a folder of runs, all of them are shown.

    Each attempted case is ok, truncated (at the token limit), filtered (by the provider's content filter) or an
    error. If a run was killed, calls in flight may have been billed without a stored response; they are counted, and
    the first few are listed. The command only reads files, so it can be used during a run.

    \b
    Examples:
      ragbed status runs/qwen
      ragbed status runs/qwen --json
    """
    from ragbed.runs.status import read_status
    from ragbed.ui.viewer.find_runs import runs_in

    for folder in runs_in([run]):
        found = read_status(folder)
        _print(found, to_stderr=json)
        if json:
            print_json(found.as_json())


def _print(found: Status, *, to_stderr: bool) -> None:
    from ragbed.reporting.table import Table

    rows = [
        {"model": model.name, "planned": model.planned, "n": model.asked}
        | {"done": f"{model.asked / model.planned:.1%}" if model.planned else None}
        | {name: getattr(model, name) for name in ("ok", "truncated", "filtered", "error")}
        | {"error types": ", ".join(f"{count:,} {kind}" for kind, count in model.errors.items()) or None}
        for model in found.models
    ]
    columns = ("model", "planned", "n", "done", "ok", "truncated", "filtered", "error", "error types")
    print_table(Table(rows, f"Run {found.run}", columns=columns), to_stderr=to_stderr)
    if found.conditions:
        from ragbed.analysis.locale import read_words
        from ragbed.reporting.result_tables import tabulate_decisions

        names = {model.model: model.name for model in found.models}
        print_table(tabulate_decisions(found.conditions, names, read_words("en")), to_stderr=to_stderr)
    print_lines(_lines(found), to_stderr=to_stderr)


def _lines(found: Status) -> list[str]:
    repeats = f", {found.repeats} responses per case" if found.repeats > 1 else ""
    lines = [f"{counted(found.cases, 'case')}{repeats}; {found.infeasible:,} infeasible cases, which are never sent."]
    for batch in found.batches:
        since = f"{datetime.fromtimestamp(batch.created, UTC):%Y-%m-%d %H:%M} UTC"
        name = batch.id or "not confirmed yet"
        lines.append(
            f"Batch in progress: {counted(batch.requests, 'request')} to {batch.model} since {since} ({name})."
        )
    lines += _notes(found)
    if found.an_error is not None:
        lines.append(f"First error: {found.an_error}")
    if found.process is not None:
        lines.append(f"Process {found.process} is running; {counted(found.in_flight, 'call')} in flight.")
    elif found.until is not None:
        lines.append(f"Cases without a result are not needed once this condition is decided: {found.until}")
    elif found.is_imported:
        if any(model.error for model in found.models):
            lines.append("To replace the errors, import files with the missing responses into a new folder.")
    elif any(model.pending or model.error for model in found.models) or not found.models:
        lines.append("Incomplete. Rerun the command that created the run to resume it.")
    if found.maybe_paid_twice:
        lines.append(
            f"Calls that were in flight when a session or worker ended: {found.maybe_paid_twice:,}. Their "
            "responses are lost; calls that the provider completed are billed again when they are resent."
        )
        lines += [f"  {call.model} {call.case} (repeat {call.repeat})" for call in found.maybe_paid_twice_first]
        if found.maybe_paid_twice > len(found.maybe_paid_twice_first):
            lines.append("  …")
    return lines


def _notes(found: Status) -> Iterator[str]:
    """Yield notes on unusual events: a server switched models, requests were adjusted, or responses are incomplete."""
    from ragbed.cli.results import read_truncated, tell_cached, tell_context_full, tell_empty
    from ragbed.runs.display_names import describe_served

    for model in found.models:
        if model.oldest_cached is not None:
            yield f"{model.name}: {tell_cached(model.cached, model.oldest_cached)}"
        if len(model.served) > 1:
            yield describe_served(model.name, model.served)
        if model.sent is not None and model.sent.get("negotiated"):
            yield (
                f"The server for {model.name} does not accept the default parameters. In requests to it, "
                f"{model.sent['negotiated']}."
            )
    truncated = sum(model.truncated for model in found.models)
    full = read_truncated(Path(found.run))[0] if truncated else 0
    if full:
        yield tell_context_full(full)
    if truncated > full:
        responses = "The other truncated responses" if full else "Truncated responses"
        yield f"{responses} count as wrong under the robust scorer. To avoid them, use a larger --max-tokens."
    if empty := sum(model.empty for model in found.models):
        models = [model.name for model in found.models if model.empty]
        yield tell_empty(empty, sum(model.ok + model.truncated for model in found.models), models)
