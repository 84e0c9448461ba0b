"""Evaluate models from Python, in scripts, notebooks and event loops."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.api.jobs import check_gates, execute, forecast_job, read_decisions, with_folder, with_short_names
from ragbed.api.planning import plan_run
from ragbed.api.progress import open_progress
from ragbed.api.results import Run
from ragbed.api.spec import RunSpec
from ragbed.api.specification import check_path, takes
from ragbed.errors import RagbedError
from ragbed.reporting.table import Table

if TYPE_CHECKING:
    from ragbed.runs.execution import Job


@takes(RunSpec)
def run(spec: RunSpec) -> Run:
    """Evaluate one or more models on one or more datasets. If `out` contains an interrupted run, resume it.

    A failed case does not raise an error; see `Run.outcomes` and `Run.errors`. If an event loop is already
    running, e.g. in a notebook, the run uses a separate thread; `arun` uses the running loop.

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
        _warn_of_infeasible(job, shown.message)
    return _finished(spec, job)


@takes(RunSpec)
async def arun(spec: RunSpec) -> Run:
    """Evaluate one or more models in the running event loop. Cancel the task to stop the run.

    Async functions are awaited in the running loop, so they can use the caller's
    clients.

    Example:
        >>> import asyncio
        >>> async def evaluate():
        ...     return await ragbed.arun("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5)
        >>> asyncio.run(evaluate()).outcomes
        {'ok': 5}
    """
    from ragbed.runs import execution

    with open_progress(spec.progress) as shown, closing(plan_run(spec, shown.message)) as job:
        try:
            await execution.arun(job, with_short_names(job, shown.calls))
        except RagbedError as error:
            raise with_folder(error, job)  # noqa: B904 - it is the same error
        _warn_of_infeasible(job, shown.message)
    return _finished(spec, job)


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
        return Table([asdict(row) for row in forecast_job(job)], "Forecast")


def _warn_of_infeasible(job: Job, message: Callable[[str], None]) -> None:
    from ragbed.runs.store import open_store

    with open_store(job.folder, create=False) as store:
        infeasible = store.infeasible()
    if infeasible:
        cases, were = ("case has", "was") if infeasible == 1 else ("cases have", "were")
        message(
            f"{infeasible:,} {cases} no such mix of documents and {were} not run. `ragbed.cases` with the same data "
            "and options counts them by reason."
        )


def _finished(spec: RunSpec, job: Job) -> Run:
    gates = [gate._asdict() for gate in check_gates(spec, job.folder)]
    conditions = [decision._asdict() for decision in read_decisions(job)]
    return Run(job.folder, Table(gates, "Gates"), Table(conditions, "Conditions"))
