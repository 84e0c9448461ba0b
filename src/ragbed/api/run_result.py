"""Evaluate models for the command `run`: the overview of the results, and the forecast of `--dry-run`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ragbed.api.jobs import check_gates, execute, forecast_job, read_decisions
from ragbed.api.planning import plan_run
from ragbed.api.progress import Progress, open_progress
from ragbed.api.run_status import read_truncated, tell_cached, tell_context_full, tell_empty, tell_truncated
from ragbed.errors import Stopped, UsageError, option
from ragbed.reporting.table import Result, Table
from ragbed.text import counted, quoted

if TYPE_CHECKING:
    from ragbed.analysis.overview import ConditionRow
    from ragbed.api.job_specs import RunCommandSpec
    from ragbed.runs.execution import Job

_UNCHECKED = "The gates were not checked, because some cases have no result."
# The tables of the report on strategies, end-to-end RAG, searches and abilities, which the overview omits.
_OTHER_TABLES = ("remedies", "own-rag", "search", "conflict", "length", "citations")


def run(spec: RunCommandSpec) -> Result:
    """Evaluate models, and return the tables, or with `dry_run` a forecast."""
    with open_progress(spec.progress) as shown, closing(plan_run(spec, shown.message)) as job:
        if spec.dry_run:
            return _forecast(job)
        cells = evaluate(job, shown, spec.gates, spec.scorers)
    return _describe(spec, job, cells)


def evaluate(job: Job, shown: Progress, gates: Sequence[str] = (), scorers: Sequence[str] = ()) -> list[ConditionRow]:
    """Run a job, and return the counts for each condition. If it stops early, show how to resume it."""
    from ragbed.analysis.overview import LiveTable
    from ragbed.runs.budget import BudgetSpent
    from ragbed.runs.circuit_breaker import CircuitOpen

    table, out = LiveTable(job.folder, scorers), option("out", quoted(job.folder))
    try:
        execute(replace(job, follower=table), shown.calls)
    except (KeyboardInterrupt, Stopped):
        shown.message(f"Stopped. Finished cases are kept. To resume, rerun the same command with {out}")
        raise
    except (BudgetSpent, CircuitOpen):
        shown.message(f"The run is stored in {job.folder}. To resume it, use {out}")
        if gates:
            shown.message(_UNCHECKED)
        raise
    return table.finish()


def _describe(spec: RunCommandSpec, job: Job, cells: Sequence[ConditionRow]) -> Result:
    """Return the tables of a run, what to know about its responses, and the results of its gates."""
    from ragbed.analysis.causes import describe_run
    from ragbed.runs.status import read_rest

    parts, notes = describe_cells(cells, job.folder, spec.scorers)
    if any(cell.condition.testbed == "own-rag" for cell in cells):
        parts = ["\n".join(describe_run(job.folder)) + "\n", *parts]
    more, explanations = _describe_other_tables(job)
    infeasible, _, (cached, oldest) = read_rest(job.folder)
    notes += [*explanations, f"The run is stored in {job.folder}"]
    if oldest is not None:
        notes.append(tell_cached(cached, oldest))
    if infeasible:
        were = "case was" if infeasible == 1 else "cases were"
        notes.append(
            f"{infeasible:,} infeasible {were} not run. `ragbed export DATA --to jsonl` with the same options lists "
            "the reasons."
        )
    if not cells and spec.shard is not None:
        notes.append(f"Shard {spec.shard} contains no questions, so no case was run.")
    decisions = read_decisions(job)
    if job.rule is not None:
        notes.append(
            f"Intervals are valid at any stopping time ({option('until')}), so they are wider than ordinary intervals."
        )
    notes += [f"until {decision.state}: {decision.name}: {decision.message}" for decision in decisions]
    values = {"run": str(job.folder), "cells": [cell.as_json() for cell in cells]}
    values |= {} if job.rule is None else {"until": [decision._asdict() for decision in decisions]}
    if job.rule is None and (pending := describe_pending(job.folder, cells, spec.gates)):
        return Result([*parts, *more], [*notes, *pending], values, 3)
    incomplete, has_errors = _describe_incomplete(job, cells)
    notes += incomplete
    try:
        failed, lines = _check_gates(spec, job.folder)
        code = 4 if failed else 0
    except UsageError as error:  # a gate has no value
        failed, lines, code = True, [str(error)], error.exit_code
    if failed and has_errors:
        lines[-1] += " The errors may be the cause, so the exit code is 3."
    code = code if failed and not has_errors else 3 if incomplete else 0
    return Result([*parts, *more], [*notes, *lines], values, code)


def _check_gates(spec: RunCommandSpec, folder: Path) -> tuple[bool, list[str]]:
    """Return whether a gate failed, and a line for each gate."""
    gates = check_gates(spec, folder)
    if not gates:
        return False, []
    from ragbed.api.analysis import describe_gates

    return any(gate.state == "failed" for gate in gates), describe_gates(gates)


def describe_cells(
    cells: Sequence[ConditionRow], folder: Path, scorers: Sequence[str] = ()
) -> tuple[list[Table | str], list[str]]:
    """Return a table for each model, dataset and profile, and sentences on responses that need attention."""
    from ragbed.analysis.overview import tell_unsure
    from ragbed.reporting.overview import tabulate_overview
    from ragbed.runs.display_names import read_names
    from ragbed.runs.store import open_store

    with open_store(folder, create=False) as store:
        published = {name.removeprefix("published ") for name in store.settings() if name.startswith("published ")}
    notes = []
    if empty := sum(cell.empty for cell in cells):
        models = {cell.condition.model for cell in cells if cell.empty}
        notes.append(tell_empty(empty, sum(cell.ok + cell.truncated for cell in cells), models))
    if unsure := tell_unsure(cells):
        notes.append(f"{unsure} `ragbed judge RUN -m MODEL --unsure` judges these responses.")
    if unscored := sum(cell.unscored for cell in cells):
        responses = "1 response is" if unscored == 1 else f"{unscored:,} responses are"
        notes.append(
            f"{responses} excluded from the robust rates because the gold answer cannot be matched. "
            "`ragbed lint DATA` lists such answers."
        )
    return [*tabulate_overview(cells, read_names([folder]), published, scorers)], notes


def _describe_other_tables(job: Job) -> tuple[list[Table | str], list[str]]:
    is_shown = any(name in job.settings["testbeds"] for name in ("own-rag", "conflict", "length"))
    if not is_shown and not {"remedies", "search"} & job.settings.keys():
        return [], []
    from ragbed.api.reports import describe_report, read_report

    return describe_report(read_report([job.folder], [str(job.folder)], "robust"), _OTHER_TABLES)


def describe_pending(folder: Path, cells: Sequence[ConditionRow], gates: Sequence[str]) -> list[str]:
    """Return sentences on the cases that have no result, if there are any."""
    pending = sum(cell.planned - cell.asked for cell in cells)
    if not pending:
        return []
    cases, out = "case has" if pending == 1 else "cases have", option("out", quoted(folder))
    text = f"Incomplete: {pending:,} {cases} no result. Rerun the same command with {out} to resume."
    return [text, _UNCHECKED] if gates else [text]


def _describe_incomplete(job: Job, cells: Sequence[ConditionRow]) -> tuple[list[str], bool]:
    """Return sentences on failed and truncated cases, and whether there are failed ones."""
    from ragbed.runs.status import read_rest

    errors, truncated = sum(cell.error for cell in cells), sum(cell.truncated for cell in cells)
    lines, other = [], f"Choose another {option('out')}."
    if errors:
        lines.append(f"First error: {read_rest(job.folder)[1]}")
        retry = f"Rerun the command with {option('out', quoted(job.folder))} to retry."
        lines.append(f"Incomplete: {counted(errors, 'case')} ended in an error. {retry}")
    # The testbed `search` sets the limits of its episodes, so rerunning them with more tokens would not help.
    truncated -= (episodes := sum(cell.truncated for cell in cells if cell.condition.testbed == "search"))
    if truncated:
        full, highest = read_truncated(job.folder)
        lines += [f"Incomplete: {tell_context_full(full)} {other}"] if full else []
        if truncated > full:
            lines.append(f"{tell_truncated(truncated - full, job.settings['max_tokens'], highest)} {other}")
    if episodes and not lines:
        job.tell(
            f"{counted(episodes, 'search episode')} ended without an answer, at a limit or after invalid calls, and "
            f"count as wrong under the robust scorer. {option('search')} sets the limits."
        )
    return lines, errors > 0


def _forecast(job: Job) -> Result:
    """Evaluate a few cases, and return a forecast for each model."""
    from ragbed.runs.display_names import short_names

    forecasts = forecast_job(job)
    names = short_names([model.name for model in job.models], job.names)
    rows = [
        {"model": names[row.model], "calls": row.calls}
        | {"input tokens": row.tokens_in, "output tokens": row.tokens_out}
        | {"cost": "–" if row.dollars is None else f"{row.dollars:.2f} $"}
        | {"minutes": "< 0.1" if row.minutes < 0.1 else f"{row.minutes:.1f}"}
        for row in forecasts
    ]
    notes = []
    if job.rule is not None:
        notes.append(f"{option('until')} may stop the run before it has made all of these calls.")
    for row in forecasts:
        if row.truncated:
            notes.append(f"{names[row.model]}: {tell_truncated(row.truncated, job.settings['max_tokens'])}")
        if row.empty:
            notes.append(f"{names[row.model]}: {tell_empty(row.empty, row.answered, [row.model])}")
    return Result([Table(rows, "Forecast")], notes, {"forecasts": forecasts})
