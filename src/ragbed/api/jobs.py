"""Execute jobs, and read the gates and stopping conditions that they decided."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ragbed.api.planning import own_scorers, read_floors
from ragbed.errors import DataError, RagbedError, UsageError, option
from ragbed.io.jsonl import write_file

if TYPE_CHECKING:
    from ragbed.analysis.gates import GateResult
    from ragbed.analysis.stopping import Decision, MonitoringRule
    from ragbed.api.spec import RunSpec
    from ragbed.runs.call_loop import CallProgress
    from ragbed.runs.execution import Job
    from ragbed.runs.forecast import Forecast

_T = TypeVar("_T")


def execute(job: Job, watch: Callable[[str, CallProgress], None]) -> None:
    """Run a job, using a separate thread if an event loop is already running, as in a notebook.

    Args:
        job: The job to run.
        watch: Called with the short name of a model and its progress.
    """
    from ragbed.runs import execution

    watch = with_short_names(job, watch)
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
        raise with_folder(error, job)  # noqa: B904 - it is the same error


def forecast_job(job: Job) -> list[Forecast]:
    """Evaluate each model of a job on five cases, and forecast calls, tokens, cost and time."""
    from ragbed.runs.call_log import describe_negotiated
    from ragbed.runs.forecast import forecast as forecast_model

    cases, forecasts = [case for case in job.cases() if case.feasible], []
    for model in job.models:
        try:
            own = job.prices.get(model.name)
            work = forecast_model(model, cases, job.repeats, batch=job.batch, episodes=job.episodes, own=own)
            forecasts.append(_finish(work))
        finally:
            if negotiated := getattr(model, "negotiated", ""):
                job.tell(describe_negotiated(model.name, negotiated))
    return forecasts


def check_gates(spec: RunSpec, folder: Path) -> list[GateResult]:
    """Check the `fail_under` and `baseline` gates, and write the results to the `junit` file."""
    floors, scorers = read_floors(spec), own_scorers(spec)
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


def read_decisions(job: Job) -> list[Decision]:
    """Return the results of the `until` conditions after a job has run."""
    return [] if job.rule is None else cast("MonitoringRule", job.rule).decisions()


def with_short_names(job: Job, watch: Callable[[str, CallProgress], None]) -> Callable[[str, CallProgress], None]:
    """Wrap a callback so that it receives the models' short names."""
    from ragbed.runs.display_names import short_names

    names = short_names([model.name for model in job.models], job.names)
    return lambda name, state: watch(names[name], state)


def with_folder(error: RagbedError, job: Job) -> RagbedError:
    """Add to an error where the finished cases of a job are kept, if there are any."""
    if not isinstance(error, UsageError | DataError) and (job.folder / "run.sqlite").exists():
        place = repr(str(job.folder))
        resume = (
            "" if job.grows else f", or resume the run with {option('out', place)}"
        )  # judges and builds have no such folder
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
