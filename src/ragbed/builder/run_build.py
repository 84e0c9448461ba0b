"""Run a build: execute a recipe's steps, and write the item files, the lock file and the quality report."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

from ragbed.builder.build_context import Build, BuildServices
from ragbed.builder.delivery import (
    Lock,
    check_lock,
    check_recipe,
    listed_files,
    make_lock,
    put_back,
    read_lock,
    write_files,
    write_lock,
)
from ragbed.builder.funnel import Delivery, compare_delivery, main_reasons
from ragbed.builder.model_client import BuildModelClient
from ragbed.builder.pipeline import Done, State, run_steps
from ragbed.builder.quality.reports import write_build_quality
from ragbed.builder.recipe import Recipe, models_of
from ragbed.builder.search_hits import check_engine
from ragbed.runs.engines import Engine
from ragbed.runs.lock import hold


@dataclass(frozen=True)
class BuildPlan:
    """A build to run.

    Attributes:
        recipe: The recipe.
        folder: Folder of the build.
        home: Folder to which the recipe's paths are relative.
        start: Step to repeat, together with all later steps; None runs only steps that are missing or out of date.
        locked: Whether to reproduce the build byte for byte from stored pages and responses.
    """

    recipe: Recipe
    folder: Path
    home: Path = Path()
    start: str | None = None
    locked: bool = False


@dataclass(frozen=True)
class BuildTools:
    """The resources that a build uses: model calls, network services, workers and the progress display."""

    client: BuildModelClient
    services: BuildServices
    engine: Engine
    watch: Callable[[str, int, int | None], None]
    message: Callable[[str], None]


def run_build(plan: BuildPlan, tools: BuildTools) -> tuple[State, list[Delivery]]:
    """Run a build, and return the state of its steps and the numbers of requested and delivered items in each file."""
    with hold(plan.folder), _work_folder(plan) as folder:
        lock = read_lock(plan.folder) if plan.locked else None
        if lock is not None:
            check_recipe(plan.folder, lock, plan.recipe)
        today = datetime.now(UTC).date() if lock is None else date.fromisoformat(lock.begun)
        services = replace(tools.services, locked=plan.locked)
        build = Build(
            folder, plan.recipe, today, tools.client, services, tools.watch, tools.engine, plan.home, keeper=plan.folder
        )
        check_engine(build)
        state = run_steps(
            build, plan.start, lambda name, done, was_done: tools.message(describe_step(name, done, was_done=was_done))
        )
        deliveries = compare_delivery(build, state)
        _deliver(build, plan, state, lock, tools)
        return state, deliveries


def describe_step(name: str, done: Done, *, was_done: bool) -> str:
    """Return a line with a step's counts."""
    lost = f"; rejected: {main_reasons(done)}" if done.rejected else ""
    kept = f" (unchanged; from_={name} runs it again)" if was_done else ""
    return f"{name}: {done.entered:,} → {done.made:,}{lost}{kept}"


def describe_quality(folder: Path) -> str | None:
    """Write a build's quality report. Return a line with the report's result, or None if the folder has no items."""
    quality = write_build_quality(folder)
    if quality is None:
        return None
    failed = ", ".join(measure.name for measure in quality.failed)
    return f"{folder / 'quality.html'}: " + (f"failed gates: {failed}." if failed else "all measured gates passed.")


@contextmanager
def _work_folder(plan: BuildPlan) -> Iterator[Path]:
    """Yield the folder in which the steps run; a locked build uses a temporary folder to compare the results."""
    if not plan.locked:
        yield plan.folder
        return
    temporary = plan.folder / ".locked"
    shutil.rmtree(temporary, ignore_errors=True)  # a killed build may have left this folder behind
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _deliver(build: Build, plan: BuildPlan, state: State, locked: Lock | None, tools: BuildTools) -> None:
    """Write the item files and the lock file. A locked build must match its lock file exactly."""
    files = write_files(build)
    if not files and listed_files(build.folder):
        tools.message(
            f"No items were built. The item files and the lock file of the earlier build in {plan.folder} were kept."
        )
        return
    lock = make_lock(build, state, tools.client.identities(models_of(plan.recipe)), files)
    if locked is None:
        write_lock(plan.folder, lock)
    else:
        check_lock(plan.folder, locked, lock)
        put_back(build.folder, plan.folder, locked)
        tools.message(f"{plan.folder} matches its lock file, byte for byte.")
    if line := describe_quality(plan.folder):
        tools.message(line)
