"""Evaluate models: run a job, from Python and for the command `run`, and return its results."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from ragbed.api.calling import execute, finish
from ragbed.api.layout import split
from ragbed.api.planning import plan_run, read_gates
from ragbed.api.progress import Progress, open_progress
from ragbed.api.results import Run
from ragbed.api.run_status import describe_incomplete, describe_responses, tell_empty, tell_truncated
from ragbed.api.spec import RunSpec
from ragbed.api.specification import check_path, takes
from ragbed.data import UNVALIDATED
from ragbed.errors import Stopped, UsageError, option
from ragbed.io.jsonl import write_file
from ragbed.reporting.table import Result, Table
from ragbed.runs.status import read_status
from ragbed.text import quoted

if TYPE_CHECKING:
    from ragbed.analysis.gates import GateResult
    from ragbed.analysis.overview import ConditionRow
    from ragbed.analysis.stopping import Decision, MonitoringRule
    from ragbed.api.job_specs import RunCommandSpec
    from ragbed.runs.execution import Job


def check_gates(spec: RunSpec, folder: Path) -> list[GateResult]:
    """Check the `fail_under` and `baseline` gates, and write the results to the `junit` file."""
    floors, scorers = read_gates(spec)
    if not floors and spec.baseline is None:
        return []
    from ragbed.analysis.gates import MIN_DROP, as_junit, check_run, with_strict
    from ragbed.api.analysis import compare

    checked = check_run(floors, folder, scorers) if floors else []
    if spec.baseline is not None:
        checked += compare(spec.baseline, folder, fail_if_worse=MIN_DROP)["gates"]
    checked = with_strict(checked) if spec.strict else checked
    if spec.junit is not None:
        write_file(Path(spec.junit), as_junit(str(folder), checked))
    return checked


@takes(RunSpec)
def run(spec: RunSpec) -> Run:
    """Evaluate one or more models on one or more datasets. If `out` contains an interrupted run, resume it.

    A failed case does not raise an error; see `Run.outcomes` and `Run.errors`. If an event loop is already
    running, e.g. in a notebook, the run uses a separate thread.

    Raises:
        UsageError: A parameter is invalid.
        RagbedError: The model cannot be called at all, or the run cannot be stored. Results of finished
            cases are kept.

    Example:
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds=["noise", "rejection"], limit=5)
        >>> run.outcomes
        {'ok': 30}
        >>> def guess(prompt):
        ...     return "Paris"
        >>> ragbed.run(guess, "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5).outcomes
        {'ok': 5}
    """
    with open_progress(spec.progress) as shown, closing(plan_run(spec, shown.message)) as job:
        execute(job, shown.calls)
        for line in _describe_infeasible(read_status(job.folder).infeasible):
            shown.message(line)
    gates = [gate._asdict() for gate in check_gates(spec, job.folder)]
    conditions = [decision._asdict() for decision in _decide(job)]
    return Run(job.folder, Table(gates, "Gates"), Table(conditions, "Conditions"))


def open_run(folder: str | Path) -> Run:
    """Open an existing run.

    Raises:
        RagbedError: The folder contains no run.

    Example:
        >>> folder = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5).folder
        >>> ragbed.open_run(folder).outcomes
        {'ok': 5}
    """
    from ragbed.runs.store import open_scored

    place = check_path("folder", folder)
    with open_scored(place):
        return Run(place)


@takes(RunSpec)
def forecast(spec: RunSpec) -> Table:
    """Evaluate each model on five cases, and forecast calls, tokens, cost and time, like `ragbed run --dry-run`.

    No results are stored.

    Example:
        >>> ragbed.forecast("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0)[0]["calls"]
        60
    """
    with open_progress(spec.progress) as shown, closing(plan_run(spec, shown.message)) as job:
        return _forecast(job).records()


def _describe_infeasible(count: int) -> list[str]:
    """Return a sentence on the infeasible cases of a run, if there are any."""
    cases = "case was" if count == 1 else "cases were"
    more = "`ragbed export DATA --to jsonl` with the same options lists the reasons."
    return [f"{count:,} infeasible {cases} not run. {more}"] if count else []


def _decide(job: Job) -> list[Decision]:
    """Return the results of the `until` conditions after a job has run."""
    return [] if job.rule is None else cast("MonitoringRule", job.rule).decisions()


_UNCHECKED = "The gates were not checked, because some cases have no result."
# The tables of the report on strategies, end-to-end RAG, searches and abilities, which the overview omits.
_OTHER_TABLES = ("remedies", "own-rag", "search", "conflict", "length", "injection", "citations")


def run_command(spec: RunCommandSpec) -> Result:
    """Evaluate models, and return the tables, or with `dry_run` a forecast."""
    with open_progress(spec.progress) as shown, closing(plan_run(spec, shown.message)) as job:
        if spec.dry_run:
            return _forecast(job)
        cells = evaluate(job, shown, spec.fail_under, read_gates(spec)[1])
    return _describe(spec, job, cells)


def evaluate(job: Job, shown: Progress, gates: Sequence[str] = (), scorers: Sequence[str] = ()) -> list[ConditionRow]:
    """Run a job, and return the counts for each condition. If it stops early, show how to resume it."""
    from ragbed.analysis.overview import LiveTable, tabulate_run
    from ragbed.runs.budget import BudgetSpent
    from ragbed.runs.circuit_breaker import CircuitOpen

    out = option("out", quoted(job.folder))
    try:
        execute(replace(job, follower=LiveTable(job.folder)), shown.calls)
    except (KeyboardInterrupt, Stopped):
        shown.message(f"Stopped. Finished cases are kept. To resume, rerun the same command with {out}")
        raise
    except (BudgetSpent, CircuitOpen):
        shown.message(f"The run is stored in {job.folder}. To resume it, use {out}")
        if gates:
            shown.message(_UNCHECKED)
        raise
    return tabulate_run(job.folder, scorers)


def _describe(spec: RunCommandSpec, job: Job, cells: Sequence[ConditionRow]) -> Result:
    """Return the tables of a run, what to know about its responses, and the results of its gates."""
    from ragbed.analysis.causes import describe_run, read_causes
    from ragbed.api.analysis import describe_gates

    found = read_status(job.folder)
    parts, notes = describe_cells(cells, job.folder, split(spec.scorer, "scorer"))
    if any(cell.condition.testbed == "own-rag" for cell in cells):
        parts = ["\n".join(describe_run(read_causes(job.folder))) + "\n", *parts]
    more, explanations = _describe_other_tables(job)
    notes = [*describe_responses(found), *notes, *explanations, f"The run is stored in {job.folder}"]
    notes += _describe_infeasible(found.infeasible)
    if not cells and spec.shard is not None:
        notes.append(f"Shard {spec.shard} contains no questions, so no case was run.")
    values = {"run": str(job.folder), "cells": [cell.as_json() for cell in cells]}
    if job.rule is not None:
        notes.append(
            f"Intervals are valid at any stopping time ({option('until')}), so they are wider than ordinary intervals."
        )
        decisions = _decide(job)
        notes += [f"until {decision.state}: {decision.name}: {decision.message}" for decision in decisions]
        values["until"] = [decision._asdict() for decision in decisions]
    notes += describe_incomplete(found, f"Rerun the command with {option('out', quoted(job.folder))} to resume.")
    if job.rule is None and any(model.pending for model in found.models):
        return Result([*parts, *more], [*notes, *([_UNCHECKED] if spec.fail_under else [])], values, 3)
    has_errors = any(cell.error for cell in cells)
    # Episodes of the testbed `search` have their own limits, so more tokens would not help.
    is_truncated = any(cell.truncated and cell.condition.testbed != "search" for cell in cells)
    if not has_errors and not is_truncated and any(cell.condition.testbed != "closed-book" for cell in cells):
        folder = quoted(job.folder)
        notes.append(f"Next: ragbed diagnose {folder}, or ragbed view {folder}")
    try:
        gates = check_gates(spec, job.folder)
        failed, lines = any(gate.state == "failed" for gate in gates), describe_gates(gates)
        code = 4 if failed else 0
    except UsageError as error:  # a gate has no value
        failed, lines, code = True, [str(error)], error.exit_code
    if failed and has_errors:
        lines[-1] += " The errors may be the cause, so the exit code is 3."
    code = code if failed and not has_errors else 3 if has_errors or is_truncated else 0
    return Result([*parts, *more], [*notes, *lines], values, code)


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
    if unsure := tell_unsure(cells):
        notes.append(f"{unsure} `ragbed judge RUN -m MODEL --unsure` judges these responses.")
    for is_marked, reason in (
        (False, "the gold answer cannot be matched. `ragbed lint DATA` lists such answers."),
        (
            True,
            "only a judge can recognise refusals and flagged errors in their language: `ragbed judge RUN -m MODEL`.",
        ),
    ):
        if unscored := sum(cell.unscored for cell in cells if (UNVALIDATED in cell.condition.data) == is_marked):
            responses = "1 response is" if unscored == 1 else f"{unscored:,} responses are"
            notes.append(f"{responses} excluded from the robust rates because {reason}")
    return [*tabulate_overview(cells, read_names([folder]), published, scorers)], notes


def _describe_other_tables(job: Job) -> tuple[list[Table | str], list[str]]:
    is_shown = any(name in job.settings["testbeds"] for name in ("own-rag", "conflict", "length", "injection"))
    if not is_shown and not {"remedies", "search"} & job.settings.keys():
        return [], []
    from ragbed.api.reports import describe_report, read_report

    return describe_report(read_report([job.folder], "robust"), _OTHER_TABLES)


def _forecast(job: Job) -> Result:
    """Evaluate each model of a job on five cases, and forecast calls, tokens, cost and time."""
    from ragbed.runs.call_log import describe_negotiated
    from ragbed.runs.display_names import short_names
    from ragbed.runs.forecast import forecast as forecast_model

    cases, forecasts = [case for case in job.cases() if case.feasible], []
    for model in job.models:
        try:
            own = job.prices.get(model.name)
            work = forecast_model(model, cases, job.repeats, batch=job.batch, episodes=job.episodes, own=own)
            forecasts.append(finish(work))
        finally:
            if negotiated := getattr(model, "negotiated", ""):
                job.tell(describe_negotiated(model.name, negotiated))
    names = short_names([model.name for model in job.models], job.names)
    shown = [
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
    return Result([Table(map(asdict, forecasts), "Forecast", shown)], notes, {"forecasts": forecasts})
