"""Run a build: execute a recipe's steps, and write the item files, the lock file and the quality report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ragbed.builder.build_context import Build, BuildServices
from ragbed.builder.delivery import listed_files, write_files, write_lock
from ragbed.builder.funnel import Delivery, compare_delivery, main_reasons
from ragbed.builder.model_client import BuildModelClient
from ragbed.builder.pipeline import Done, State, run_steps
from ragbed.builder.quality.reports import write_build_quality
from ragbed.builder.recipe import Recipe, models_of
from ragbed.builder.search_hits import check_engine
from ragbed.errors import option
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
    """

    recipe: Recipe
    folder: Path
    home: Path = Path()
    start: str | None = None


@dataclass(frozen=True)
class BuildTools:
    """The resources that a build uses: model calls, network services, workers and the progress display."""

    client: BuildModelClient
    services: BuildServices
    engine: Engine
    watch: Callable[[str, int, int | None], None]
    message: Callable[[str], None]


def open_build(plan: BuildPlan, tools: BuildTools) -> Build:
    """Return the context in which a plan's steps run."""
    today = datetime.now(UTC).date()
    return Build(
        plan.folder, plan.recipe, today, tools.client, tools.services, tools.watch, tools.engine, plan.home
    )  # fmt: skip


def run_build(plan: BuildPlan, tools: BuildTools) -> tuple[State, list[Delivery]]:
    """Run a build, and return the state of its steps and the numbers of requested and delivered items in each file."""
    with hold(plan.folder):
        build = open_build(plan, tools)
        check_engine(build)
        state = run_steps(
            build, plan.start, lambda name, done, was_done: tools.message(describe_step(name, done, was_done=was_done))
        )
        deliveries = compare_delivery(build, state)
        files = write_files(build)
        if not files and listed_files(build.folder):
            tools.message(f"No items were built. The item files of the earlier build in {plan.folder} were kept.")
            return state, deliveries
        write_lock(build, state, tools.client.identities(models_of(plan.recipe)), files)
        if line := describe_quality(plan.folder):
            tools.message(line)
        return state, deliveries


def describe_step(name: str, done: Done, *, was_done: bool) -> str:
    """Return a line with a step's counts."""
    lost = f"; rejected: {main_reasons(done)}" if done.rejected else ""
    kept = f" (unchanged; {option('from_', name)} runs it again)" if was_done else ""
    return f"{name}: {done.entered:,} → {done.made:,}{lost}{kept}"


def describe_quality(folder: Path) -> str | None:
    """Write a build's quality report. Return a line with the report's result, or None if the folder has no items."""
    quality = write_build_quality(folder)
    if quality is None:
        return None
    failed = ", ".join(measure.name for measure in quality.failed)
    return f"{folder / 'quality.html'}: " + (f"failed gates: {failed}." if failed else "all measured gates passed.")
