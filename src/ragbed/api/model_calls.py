"""Plan and run the model calls of a judgement, a diagnosis or a build."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.api.calling import CallOptions, open_engine, open_model, open_reader, read_budget
from ragbed.api.progress import Progress
from ragbed.api.runs import execute
from ragbed.environment import cache_file

if TYPE_CHECKING:
    from ragbed.models.base import Sampling
    from ragbed.runs.budget import Budget
    from ragbed.runs.engines import Engine
    from ragbed.runs.execution import Job
    from ragbed.schema import Case


@dataclass(frozen=True)
class CallPlan:
    """Calls to make, stored as a run of their own that can be resumed and grows with new cases.

    Attributes:
        folder: Folder of the run.
        settings: Settings that must be the same when the run is resumed.
        cases: Returns the cases.
        models: Model strings.
        sampling: Sampling parameters.
        repeats: Calls per case.
        budget: Budget that these calls share with others.
        reads_prompt: Whether the models must follow a prompt, e.g. of a judge; a RAG system is refused then.
    """

    folder: Path
    settings: dict[str, str]
    cases: Callable[[], Iterable[Case]]
    models: Sequence[str]
    sampling: Sampling
    repeats: int = 1
    budget: Budget | None = None
    reads_prompt: bool = True


class ModelCaller:
    """Makes the calls of one API function, with one engine, one cache and one display of progress."""

    def __init__(self, options: CallOptions, engine: Engine, progress: Progress) -> None:
        self.options, self.engine, self.progress = options, engine, progress

    def budget(self, models: Iterable[str]) -> Budget | None:
        """Return a new budget, if a limit is set; every model then needs a known price."""
        return read_budget(models, self.options["budget"])

    def plan(self, plan: CallPlan) -> Job:
        """Return the job of a plan, with its models opened."""
        from ragbed.runs.execution import Job

        open_one = open_reader if plan.reads_prompt else open_model
        return Job(
            folder=plan.folder,
            settings=plan.settings,
            cases=plan.cases,
            models=[open_one(name, plan.sampling, self.options, self.engine) for name in dict.fromkeys(plan.models)],
            repeats=plan.repeats,
            grows=True,
            cache=None if self.options["no_cache"] else cache_file(),
            budget=plan.budget,
            tell=self.progress.message,
        )

    def run(self, plan: CallPlan, label: Callable[[str], str] = str) -> Job:
        """Make the calls of a plan, except those with a stored response; `label` turns a model's name into a title."""
        job = self.plan(plan)
        execute(job, lambda model, state: self.progress.calls(label(model), state))
        return job


@contextmanager
def open_caller(options: CallOptions, progress: Progress) -> Iterator[ModelCaller]:
    """Open the engine for calls, and close it at the end of the block."""
    engine = open_engine(options, progress.message)
    try:
        yield ModelCaller(options, engine, progress)
    finally:
        engine.close()
