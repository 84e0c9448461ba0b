"""Evaluate models from Python, in scripts, notebooks and event loops."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast

from ragbed.api.options import local_path
from ragbed.api.parameters import checked
from ragbed.api.planning import plan_run, read_floors
from ragbed.api.progress import Progress, open_progress
from ragbed.api.results import Records, Run
from ragbed.api.spec import RunOptions, RunSpec, make_spec
from ragbed.errors import DataError, RagbedError, UsageError
from ragbed.io.jsonl import write_file

if TYPE_CHECKING:
    from ragbed.analysis.gates import GateResult
    from ragbed.analysis.stopping import Decision, MonitoringRule
    from ragbed.api.data_objects import DataLike
    from ragbed.api.objects import ModelLike
    from ragbed.runs.call_loop import CallProgress
    from ragbed.runs.execution import Job
    from ragbed.runs.forecast import Forecast

_T = TypeVar("_T")


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
            await execution.arun(job, _named(job, shown.calls))
        except RagbedError as error:
            raise _with_folder(error, job)  # noqa: B904 - it is the same error
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
    from ragbed.runs.scoring import open_scored

    place = local_path(folder)
    with open_scored(place):
        return Run(place)


def execute(job: Job, watch: Callable[[str, CallProgress], None]) -> None:
    """Run a job, using a separate thread if an event loop is already running, as in a notebook.

    Args:
        job: The job to run.
        watch: Called with the short name of a model and its progress.
    """
    from ragbed.runs import execution

    watch = _named(job, watch)
    try:
        if not _loop_is_running():
            execution.run(job, watch)
            return
        ending = execution.ShutdownHandler()
        with ThreadPoolExecutor(1) as pool:
            work = pool.submit(execution.run, job, watch, ending)
            try:
                work.result()
            except BaseException:  # Ctrl-C raises an exception here; without `end`, the thread would keep running.
                ending.end()
                raise
    except RagbedError as error:
        raise _with_folder(error, job)  # noqa: B904 - it is the same error


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


def forecast_job(job: Job) -> list[Forecast]:
    """Evaluate each model of a job on five cases, and forecast calls, tokens, cost and time."""
    from ragbed.runs.forecast import forecast as forecast_model

    cases = [case for case in job.cases() if case.feasible]
    return [
        _finish(forecast_model(model, cases, job.repeats, batch=job.batch, episodes=job.episodes))
        for model in job.models
    ]


def check_gates(spec: RunSpec, folder: Path) -> list[GateResult]:
    """Check the `fail_under` gates, and write the results to the `junit` file."""
    floors = read_floors(spec.gates)
    if not floors:
        return []
    from ragbed.analysis.gates import as_junit, check_run

    checked = check_run(floors, folder)
    if spec.junit is not None:
        write_file(Path(spec.junit), as_junit(str(folder), checked))
    return checked


def read_decisions(job: Job) -> list[Decision]:
    """Return the results of the `until` conditions after a job has run."""
    return [] if job.rule is None else cast("MonitoringRule", job.rule).decisions()


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


def _named(job: Job, watch: Callable[[str, CallProgress], None]) -> Callable[[str, CallProgress], None]:
    """Wrap a callback so that it receives the models' short names."""
    from ragbed.runs.display_names import short_names

    names = short_names([model.name for model in job.models], job.names)
    return lambda name, state: watch(names[name], state)


def _with_folder(error: RagbedError, job: Job) -> RagbedError:
    if not isinstance(error, UsageError | DataError) and (job.folder / "run.sqlite").exists():
        place = repr(str(job.folder))
        resume = "" if job.grows else f", or resume the run with out={place}"  # judges and builds have no such folder
        error.add_note(f"Finished cases are kept. Open them with ragbed.open_run({place}){resume}")
    return error


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _finish(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to completion, even if an event loop is already running."""
    if not _loop_is_running():
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def _show_options(function: Any) -> None:  # noqa: ANN401 - attributes are set on the function
    """Add the run options to a function's signature, for `help` and tab completion."""
    signature = inspect.signature(function)
    own = [param for param in signature.parameters.values() if param.kind is not inspect.Parameter.VAR_KEYWORD]
    options = [
        inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
        for field in fields(RunSpec)
        if field.name not in ("model", "data")
    ]
    function.__signature__ = signature.replace(parameters=[*own, *options])


for _function in (run, arun, forecast):
    _show_options(_function)
