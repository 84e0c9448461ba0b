"""Print the overview table and the conditions of a run, and the forecast for `--dry-run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.api.run_status import read_truncated, tell_context_full, tell_empty, tell_truncated
from ragbed.cli.console import print_json, print_table, print_tables, say
from ragbed.errors import GateFailed, UsageError
from ragbed.text import counted, quoted

if TYPE_CHECKING:
    from ragbed.analysis.overview import ConditionRow
    from ragbed.api.spec import RunSpec
    from ragbed.runs.execution import Job


def say_causes(folder: Path, cells: Sequence[ConditionRow]) -> None:
    """Print why the answers of a RAG system are wrong."""
    if any(cell.condition.testbed == "own-rag" for cell in cells):
        from ragbed.analysis.causes import describe_run

        for sentence in describe_run(folder):
            say(sentence)


def exit_if_pending(folder: Path, cells: Sequence[ConditionRow], gates: Sequence[str]) -> None:
    """Exit with code 3 if a run has pending cases."""
    if pending := sum(cell.planned - cell.asked for cell in cells):
        cases = "case has" if pending == 1 else "cases have"
        say(f"Incomplete: {pending:,} {cases} no result. Rerun the same command with --out {quoted(folder)} to resume.")
        say_unchecked(gates)
        raise click.exceptions.Exit(3)


def tell_incomplete(folder: Path, cells: Sequence[ConditionRow], limit: str) -> tuple[int, int]:
    """Print what is incomplete, and return the number of cases that failed and of those that were truncated.

    Episodes of the `search` testbed that end at a limit are printed, but not included in the number.

    Args:
        folder: Folder of the run.
        cells: The run's counts by condition.
        limit: The responses' token limit.
    """
    errors, truncated = sum(cell.error for cell in cells), sum(cell.truncated for cell in cells)
    if episodes := sum(cell.truncated for cell in cells if cell.condition.testbed == "search"):
        truncated -= episodes  # the testbed sets the search limits, so rerunning these episodes would not help
        say(
            f"{counted(episodes, 'search episode')} ended without an answer, at a limit or after invalid calls, and "
            "count as wrong under the robust scorer. --search sets the limits."
        )
    if errors:
        from ragbed.runs.status import read_rest

        say(f"First error: {read_rest(folder)[1]}")
        retry = f"Rerun the command with --out {quoted(folder)} to retry."
        say(f"Incomplete: {counted(errors, 'case')} ended in an error. {retry}")
    if truncated:
        full, highest = read_truncated(folder)
        if full:
            say(f"Incomplete: {tell_context_full(full)} Choose another --out.")
        if truncated > full:
            say(f"{tell_truncated(truncated - full, limit, highest)} Choose another --out.")
    return errors, truncated


# Models that have no chat template: baselines, scripted models, functions and RAG systems.


def print_cells(cells: Sequence[ConditionRow], folder: Path, scorers: Sequence[str] = (), *, to_stderr: bool) -> None:
    """Print a table for each model, dataset and profile, and messages on responses that need attention."""
    from ragbed.analysis.overview import tell_unsure
    from ragbed.reporting.overview import tabulate_overview
    from ragbed.runs.display_names import read_names
    from ragbed.runs.store import open_store

    with open_store(folder, create=False) as store:
        published = {name.removeprefix("published ") for name in store.settings() if name.startswith("published ")}
    print_tables(tabulate_overview(cells, read_names([folder]), published, scorers), to_stderr=to_stderr)
    if empty := sum(cell.empty for cell in cells):
        models = {cell.condition.model for cell in cells if cell.empty}
        say(tell_empty(empty, sum(cell.ok + cell.truncated for cell in cells), models))
    if unsure := tell_unsure(cells):
        say(f"{unsure} Judge these responses with ragbed judge RUN -m MODEL --unsure.")
    if unscored := sum(cell.unscored for cell in cells):
        responses = "1 response is" if unscored == 1 else f"{unscored:,} responses are"
        say(
            f"{responses} excluded from the robust rates because the gold answer cannot be matched. "
            "`ragbed lint DATA` lists such answers."
        )


def print_other_tables(folder: Path, settings: Mapping[str, str], *, to_stderr: bool) -> None:
    """Print the tables on strategies, end-to-end RAG, searches and other abilities, which the overview table omits."""
    testbeds = settings["testbeds"]
    is_covered = not any(name in testbeds for name in ("own-rag", "conflict", "length"))
    if is_covered and not {"remedies", "search"} & settings.keys():
        return
    from ragbed.api.reports import describe_report, read_report
    from ragbed.cli.console import show_result
    from ragbed.reporting.table import Result

    shown = ("remedies", "own-rag", "search", "conflict", "length", "citations")
    show_result(Result(*describe_report(read_report([folder], [str(folder)], "robust"), shown)), to_stderr=to_stderr)


def print_forecasts(job: Job, *, to_json: bool) -> None:
    """Evaluate a few cases and print a forecast for each model."""
    from ragbed.api.jobs import forecast_job
    from ragbed.reporting.table import Table
    from ragbed.runs.display_names import short_names

    forecasts = forecast_job(job)
    names = short_names([model.name for model in job.models], job.names)
    rows = [
        {"model": names[row.model], "calls": row.calls}
        | {
            "input tokens": row.tokens_in,
            "output tokens": row.tokens_out,
            "cost": "–" if row.dollars is None else f"{row.dollars:.2f} $",
        }
        | {"minutes": "< 0.1" if row.minutes < 0.1 else f"{row.minutes:.1f}"}
        for row in forecasts
    ]
    print_table(Table(rows, "Forecast"), to_stderr=to_json)
    if job.rule is not None:
        say("--until may stop the run before it has made all of these calls.")
    for row in forecasts:
        if row.truncated:
            say(f"{names[row.model]}: {tell_truncated(row.truncated, job.settings['max_tokens'])}")
        if row.empty:
            say(f"{names[row.model]}: {tell_empty(row.empty, row.answered, [row.model])}")
    if to_json:
        print_json({"forecasts": forecasts})


def print_decisions(job: Job) -> None:
    """Print the results of the --until conditions."""
    from ragbed.api.jobs import read_decisions

    if job.rule is not None:
        say("Intervals are valid at any stopping time (--until), so they are wider than ordinary intervals.")
    for decision in read_decisions(job):
        say(f"until {decision.state}: {decision.name}: {decision.message}")


def tell_gates(spec: RunSpec, folder: Path, *, has_errors: bool) -> None:
    """Check the gates of a run in which every case has a result, and print the results.

    Args:
        spec: The run's options.
        folder: Folder of the run.
        has_errors: Whether cases ended in an error. A gate may fail or have no value for this reason alone, so this is
            only printed.

    Raises:
        GateFailed: A gate failed.
    """
    from ragbed.api.analysis import describe_gates
    from ragbed.api.jobs import check_gates

    try:
        gates = check_gates(spec, folder)
        lines = describe_gates(gates)
        failed = any(gate.state == "failed" for gate in gates)
        for line in lines[:-1] if failed else lines:
            say(line)
        if failed:
            raise GateFailed(lines[-1])
    except (GateFailed, UsageError) as failure:
        if not has_errors:
            raise
        say(f"{failure} The errors may be the cause, so the exit code is 3.")


def say_unchecked(gates: Sequence[str]) -> None:
    """Print that the gates, if there are any, were not checked."""
    if gates:
        say("The gates were not checked, because some cases have no result.")
