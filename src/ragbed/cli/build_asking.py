"""How a build asks models: each task is a run of its own in the build's folder, with all that a run promises."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragbed.builder.model_requests import Request
    from ragbed.cli.asking import AskingOptions
    from ragbed.models.base import Sampling
    from ragbed.runs.budget import Budget
    from ragbed.runs.engines import Engine
    from ragbed.schema import Completion


class BuildModelClient:
    """What the steps of a build ask with.

    Args:
        folder: Where the runs are.
        chosen: The options that say how models are asked.
        engine: Who asks.
        locked: Whether only what was asked before may be answered.
    """

    def __init__(self, folder: Path, chosen: AskingOptions, engine: Engine, *, locked: bool) -> None:
        self._folder, self._chosen, self._engine, self._locked = folder, chosen, engine, locked

    def __call__(self, request: Request) -> Mapping[str, Sequence[Completion]]:
        """The completions of all cases; those that failed in an earlier session are asked again."""
        from ragbed.errors import RagbedError
        from ragbed.models.base import Sampling

        if not request.cases:
            return {}
        sampling = Sampling(temperature=request.temperature, max_tokens=request.max_tokens)
        folder = self._folder / f"{request.task}-{_mark(request, sampling)}"
        found = self._read(folder, request)
        if not _is_whole(found, request):
            if self._locked:
                raise RagbedError(
                    f"{folder} does not hold all that {request.task} asks {request.model}, so a locked build cannot "
                    "have it: the recipe, the prompts, the documents or ragbed are others; build without --locked."
                )
            self._run(folder, request, sampling)
            found = self._read(folder, request)
        return found

    def identities(self, models: Collection[str]) -> dict[str, str]:
        """What models that were asked, in this session or before, said they were."""
        from ragbed.runs.database import EmptyRun
        from ragbed.runs.store import open_store

        found: dict[str, str] = {}
        for path in sorted(self._folder.glob("*/run.sqlite")):
            with suppress(EmptyRun), open_store(path.parent, create=False) as store:
                found |= {name: identity for name, identity in store.models().values() if name in models}
        return found

    def _run(self, folder: Path, request: Request, sampling: Sampling) -> None:
        from ragbed.cli.asking import open_reader
        from ragbed.cli.console import say
        from ragbed.cli.run_progress import RunProgress
        from ragbed.environment import cache_file
        from ragbed.runs.execution import Job, run

        job = Job(
            folder=folder,
            settings={"task": request.task},
            cases=lambda: request.cases,
            models=[open_reader(request.model, sampling, self._chosen, self._engine)],
            repeats=request.samples,
            grows=True,
            cache=None if self._chosen["no_cache"] else cache_file(),
            budget=self._budget(folder, request.model),
            tell=say,
        )
        with RunProgress() as progress:
            run(job, lambda model, told: progress.watch(f"{request.task} ({model})", told))

    def _budget(self, folder: Path, model: str) -> Budget | None:
        """What is left for this task: the budget is the whole build's."""
        from ragbed.cli.asking import read_budget
        from ragbed.runs.database import EmptyRun
        from ragbed.runs.store import open_store

        budget = read_budget([model], self._chosen)
        if budget is not None:
            for other in self._folder.glob("*/run.sqlite"):
                if other.parent != folder:  # the run itself counts its own
                    with suppress(EmptyRun), open_store(other.parent, create=False) as store:
                        for result in store.results():
                            if not result.cached:
                                budget.pay(result.model, result.completion)
        return budget

    def _read(self, folder: Path, request: Request) -> dict[str, list[Completion]]:
        from ragbed.runs.database import EmptyRun
        from ragbed.runs.store import open_store

        found: dict[str, list[Completion]] = {case.case: [] for case in request.cases}
        if (folder / "run.sqlite").is_file():
            with suppress(EmptyRun), open_store(folder, create=False) as store:  # it may have been killed at its start
                for result in store.results():
                    if result.case.case in found and result.repeat < request.samples:
                        found[result.case.case].append(result.completion)
        return found


def _is_whole(found: Mapping[str, Sequence[Completion]], request: Request) -> bool:
    return all(
        len(completions) == request.samples and all(one.outcome != "error" for one in completions)
        for completions in found.values()
    )


def _mark(request: Request, sampling: Sampling) -> str:
    """Other models and settings go elsewhere, so that they never mix."""
    return hashlib.sha256(f"{request.model} {sampling}".encode()).hexdigest()[:8]
