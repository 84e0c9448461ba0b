"""Plan and run the model calls for a judgement or a build."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.api.calling import open_engine, open_reader, read_budget, read_prices
from ragbed.api.jobs import execute
from ragbed.api.objects import ModelLike, ModelSource, System, read_models
from ragbed.api.progress import Progress
from ragbed.api.spec import CallOptions
from ragbed.environment import cache_file
from ragbed.errors import RagbedError, UsageError

if TYPE_CHECKING:
    from ragbed.models.base import Model, Sampling
    from ragbed.models.providers.negotiation import Learned
    from ragbed.runs.budget import Budget
    from ragbed.runs.engines.local import LocalEngine
    from ragbed.runs.execution import Job
    from ragbed.schema import Case


@dataclass(frozen=True)
class CallPlan:
    """Planned calls, stored as a separate run that can be resumed and extended with new cases.

    Attributes:
        folder: Folder of the run.
        settings: Settings that must be the same when the run is resumed.
        cases: Function that returns the cases.
        models: Model strings or model objects.
        sampling: Sampling parameters.
        repeats: Number of calls per case.
        budget: Budget shared with other calls.
    """

    folder: Path
    settings: dict[str, str]
    cases: Callable[[], Iterable[Case]]
    models: ModelLike
    sampling: Sampling
    repeats: int = 1
    budget: Budget | None = None


class ModelCaller:
    """Makes the model calls for one API function, with one engine, one cache and one progress display."""

    def __init__(self, options: CallOptions, engine: LocalEngine, progress: Progress) -> None:
        self.options, self.engine, self.progress = options, engine, progress
        # The parameter changes that each model's server requires, shared by all tasks of a command.
        self._learned: dict[str, Learned] = {}

    def budget(self, models: ModelLike) -> Budget | None:
        """Return a new budget, or None without a limit (see `read_budget`)."""
        return read_budget((source.name for source in read_models(models)), self.options)

    def pay_earlier_calls(self, folders: Iterable[Path], budget: Budget | None) -> None:
        """Charge the earlier calls of all runs that share a budget before the first of these runs makes a call."""
        from ragbed.runs.database import NAME
        from ragbed.runs.execution import pay_earlier_calls
        from ragbed.runs.store import open_store

        for folder in folders:
            if budget is not None and (folder / NAME).is_file():
                # If a store cannot be opened, its run repairs it or reports the problem, and charges the calls.
                with suppress(RagbedError), open_store(folder, create=False) as store:
                    pay_earlier_calls(store, budget, self.progress.message)

    def plan(self, plan: CallPlan) -> Job:
        """Open the models of a plan and return its job."""
        from ragbed.runs.execution import Job

        return Job(
            folder=plan.folder,
            settings=plan.settings,
            cases=plan.cases,
            models=[self._open(source, plan) for source in read_models(plan.models)],
            repeats=plan.repeats,
            grows=True,
            cache=None if self.options.cache == "off" else cache_file(),
            reuses_all=self.options.cache == "reuse",
            budget=plan.budget,
            prices=read_prices((source.name for source in read_models(plan.models)), self.options),
            tell=self.progress.message,
        )

    def _open(self, source: ModelSource, plan: CallPlan) -> Model:
        if source.value is None:
            model = open_reader(source.name, plan.sampling, self.options, self.engine)
            if (negotiation := getattr(model, "negotiation", None)) is not None:
                negotiation.learned = self._learned.setdefault(model.name, negotiation.learned)
            return model
        if isinstance(source.value, System):
            raise UsageError(
                f"{source.name} is a RAG system and does not accept prompts. Use a language model instead."
            )
        from ragbed.api.function_models import open_object

        return open_object(source, self.options.max_connections, self.options.timeout, {})

    def run(self, plan: CallPlan, label: Callable[[str], str] = str) -> Job:
        """Make the planned calls that have no stored response yet; `label` maps a model's name to a progress title."""
        job = self.plan(plan)
        execute(job, lambda model, state: self.progress.calls(label(model), state))
        return job


@contextmanager
def open_caller(options: CallOptions, progress: Progress) -> Iterator[ModelCaller]:
    """Open the engine for model calls, and close it at the end of the block."""
    engine = open_engine(options, progress.message)
    try:
        yield ModelCaller(options, engine, progress)
    finally:
        engine.close()
