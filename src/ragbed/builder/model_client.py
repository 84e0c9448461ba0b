"""Call models for a build. Each task is a separate run in the build's folder, so it can be resumed and replayed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from ragbed.builder.model_requests import Request
from ragbed.models.base import Sampling
from ragbed.runs.budget import Budget
from ragbed.runs.database import NAME, EmptyRun
from ragbed.runs.store import StoredResult, open_store
from ragbed.schema import Completion

CallModel: TypeAlias = Callable[[Path, Request, Sampling, Budget | None], None]
"""Calls a model for all cases of a request and stores the responses in a run folder."""


class BuildModelClient:
    """A client that calls models for a build's steps and reuses responses from earlier sessions.

    Args:
        folder: Folder that contains the runs.
        call: Calls a model for a request.
        make_budget: Creates the build's budget for a given model; None means no limit.
        adapt: Applies the user's request options to the sampling settings of a request.
    """

    def __init__(
        self,
        folder: Path,
        call: CallModel,
        make_budget: Callable[[str], Budget | None],
        adapt: Callable[[Sampling], Sampling] = lambda sampling: sampling,
    ) -> None:
        self._adapt = adapt
        self._folder, self._call, self._make_budget = folder, call, make_budget
        self._spending: dict[Path, Budget] = {}

    def __call__(self, request: Request) -> Mapping[str, Sequence[Completion]]:
        """Return the completions for all cases, calling the model for cases that are new or have failed before."""
        if not request.cases:
            return {}
        sampling = self._adapt(
            Sampling(
                temperature=request.temperature,
                max_tokens=request.max_tokens,
                choices=request.choices,
                schema=request.schema,
                raises_limit=True,
            )
        )
        # Each combination of model and settings has its own folder, to keep the responses separate.
        digest = hashlib.sha256(f"{request.model} {sampling.key()}".encode()).hexdigest()[:8]
        folder = self._folder / f"{request.task}-{digest}"
        found = _group(_results(folder), request)
        if not _is_complete(found, request):
            budget = self._budget(folder, request.model)
            self._call(folder, request, sampling, budget)
            found = _group(_results(folder) if budget is None else self._counted(folder), request)
        return found

    def identities(self, models: Collection[str]) -> dict[str, str]:
        """Return the identity that each model reported in this session or an earlier one."""
        found: dict[str, str] = {}
        for folder in self._runs():
            with suppress(EmptyRun), open_store(folder, create=False) as store:
                found |= {name: identity for name, identity in store.models().values() if name in models}
        return found

    def _runs(self) -> list[Path]:
        return sorted(path.parent for path in self._folder.glob(f"*/{NAME}"))

    def _budget(self, folder: Path, model: str) -> Budget | None:
        """Return the build's budget minus the cost of all other tasks; the task's run deducts its own cost."""
        budget = self._make_budget(model)
        if budget is not None:
            for other in self._runs():
                if other != folder:
                    if other not in self._spending:  # read each task's results from earlier sessions only once
                        for _ in self._counted(other):
                            pass
                    budget.include(self._spending[other])
        return budget

    def _counted(self, folder: Path) -> Iterator[StoredResult]:
        """Yield a run's results and add up their cost."""
        with suppress(EmptyRun), open_store(folder, create=False) as store:
            ledger = self._spending[folder] = Budget(None, store.prices())
        for result in _results(folder):
            if not result.cached:
                ledger.pay(result.model, result.completion)
            yield result


def _results(folder: Path) -> Iterator[StoredResult]:
    """Yield a run's results, or nothing if the run does not exist or was killed before its first result."""
    if (folder / NAME).is_file():
        with suppress(EmptyRun), open_store(folder, create=False) as store:
            yield from store.results()


def _group(results: Iterable[StoredResult], request: Request) -> dict[str, list[Completion]]:
    found: dict[str, list[Completion]] = {case.case: [] for case in request.cases}
    for result in results:
        if result.case.case in found and result.repeat < request.samples:
            found[result.case.case].append(result.completion)
    return found


def _is_complete(found: Mapping[str, Sequence[Completion]], request: Request) -> bool:
    return all(
        len(completions) == request.samples and all(completion.outcome != "error" for completion in completions)
        for completions in found.values()
    )
