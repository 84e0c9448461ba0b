"""Evaluate models from Python, in scripts, notebooks and event loops."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ragbed.api.jobs import check_gates, execute, forecast_job, read_decisions, with_folder, with_short_names
from ragbed.api.options import local_path
from ragbed.api.parameters import checked
from ragbed.api.planning import plan_run
from ragbed.api.progress import Progress, open_progress
from ragbed.api.results import Records, Run
from ragbed.api.spec import RunOptions, RunSpec, make_spec
from ragbed.errors import RagbedError

if TYPE_CHECKING:
    from ragbed.api.data_objects import DataLike
    from ragbed.api.objects import ModelLike
    from ragbed.runs.execution import Job


def run(model: ModelLike, data: DataLike, *, progress: bool | Progress = True, **options: Unpack[RunOptions]) -> Run:
    """Evaluate one or more models on one or more datasets. If `out` contains an interrupted run, resume it.

    A failed case does not raise an error; see `Run.outcomes` and `Run.errors`. If an event loop is already
    running, e.g. in a notebook, the run uses a separate thread; `arun` uses the running loop.

    Args:
        model: Model string such as `openai/gpt-4o-mini`, a function that maps a prompt to a response, a
            `ragbed.system`, an object that implements the `Model` protocol, a list of these, or a dictionary with
            display names as keys.
        data: Dataset name, file, URL, list of item dictionaries, DataFrame, a list of these, or a dictionary with
            dataset names as keys.
        progress: Whether to show bars in terminals and notebooks, or a `Progress` object that receives updates.
        options: The options of `ragbed run`, such as `testbeds="noise"`, `limit=50` or `out="runs/mine"`; see
            `RunSpec`.

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
    spec = make_spec(model, data, options)
    with open_progress(progress) as shown, closing(plan_run(spec, shown.message)) as job:
        execute(job, shown.calls)
        _warn_of_infeasible(job, shown.message)
    return _finished(spec, job)


async def arun(
    model: ModelLike, data: DataLike, *, progress: bool | Progress = True, **options: Unpack[RunOptions]
) -> Run:
    """Evaluate one or more models in the running event loop. Cancel the task to stop the run.

    The parameters are those of `run`. Async functions are awaited in the running loop, so they can use the caller's
    clients.

    Example:
        >>> import asyncio
        >>> async def evaluate():
        ...     return await ragbed.arun("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5)
        >>> asyncio.run(evaluate()).outcomes
        {'ok': 5}
    """
    from ragbed.runs import execution

    spec = make_spec(model, data, options, "arun")
    with open_progress(progress) as shown, closing(plan_run(spec, shown.message)) as job:
        try:
            await execution.arun(job, with_short_names(job, shown.calls))
        except RagbedError as error:
            raise with_folder(error, job)  # noqa: B904 - it is the same error
        _warn_of_infeasible(job, shown.message)
    return _finished(spec, job)


@checked
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

    place = local_path(folder)
    with open_scored(place):
        return Run(place)


def forecast(
    model: ModelLike, data: DataLike, *, progress: bool | Progress = True, **options: Unpack[RunOptions]
) -> Records:
    """Evaluate each model on five cases, and forecast calls, tokens, cost and time, like `ragbed run --dry-run`.

    The parameters are those of `run`. No results are stored.

    Example:
        >>> ragbed.forecast("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0)[0]["calls"]
        60
    """
    spec = make_spec(model, data, options, "forecast")
    with open_progress(progress) as shown, closing(plan_run(spec, shown.message)) as job:
        return Records([asdict(row) for row in forecast_job(job)], "Forecast")


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
    return Run(job.folder, Records(gates, "Gates"), Records(conditions, "Conditions"))


def _show_options(*functions: Any) -> None:  # noqa: ANN401 - attributes are set on the functions
    """Add the run options to the functions' signatures, for `help` and tab completion."""
    options = [
        inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
        for field in fields(RunSpec)
        if field.name not in ("model", "data")
    ]
    for function in functions:
        signature = inspect.signature(function)
        own = [param for param in signature.parameters.values() if param.kind is not inspect.Parameter.VAR_KEYWORD]
        function.__signature__ = signature.replace(parameters=[*own, *options])


_show_options(run, arun, forecast)
