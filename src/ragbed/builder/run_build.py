"""Run a build: execute a recipe's steps, and write the item files, the lock file and the quality report."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from ragbed import __version__
from ragbed.builder.build_context import LOCK, Build, BuildServices, FetchedPage, hash_file, listed_files
from ragbed.builder.funnel import Delivery, compare_delivery, main_reasons
from ragbed.builder.items import KINDS, file_of
from ragbed.builder.model_calls import PROMPTS, BuildModelClient, closed_book_hash, prompt_hash
from ragbed.builder.pipeline import Done, State, run_steps
from ragbed.builder.quality.reports import write_build_quality
from ragbed.builder.ranking import check_engine
from ragbed.builder.recipe import Recipe, encoder_of, models_of
from ragbed.data.native import to_line
from ragbed.io.jsonl import write_whole
from ragbed.retrieval import open_encoder
from ragbed.runs.engines import Engine
from ragbed.runs.lock import hold
from ragbed.schema import Article, Item


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
    kept = f" (unchanged; from_={name} runs it again)" if was_done else ""
    return f"{name}: {done.entered:,} → {done.made:,}{lost}{kept}"


def describe_quality(folder: Path) -> str | None:
    """Write a build's quality report. Return a line with the report's result, or None if the folder has no items."""
    quality = write_build_quality(folder)
    if quality is None:
        return None
    failed = ", ".join(measure.name for measure in quality.failed)
    return f"{folder / 'quality.html'}: " + (f"failed gates: {failed}." if failed else "all measured gates passed.")


class Lock(Struct, frozen=True, kw_only=True):
    """A build's lock, which records the build's inputs and outputs."""

    ragbed: str
    begun: str
    canary: str  # a unique string; a model that can complete it was trained on this benchmark
    recipe: Recipe
    models: dict[str, str]  # the models that were called, with the identities that they reported
    encoders: dict[str, str]
    prompts: dict[str, str]
    sources: dict[str, str]  # URLs of articles, with the hashes of their contents
    pages: dict[str, str]  # URLs of search results, with the hashes of their contents
    steps: dict[str, str]  # hash of each step's file
    files: dict[str, str]  # hash of each item file


def write_files(build: Build) -> dict[str, str]:
    """Write the item files, and return their names and hashes.

    Item files from an earlier build that this build does not write are removed, unless this build has no items at all.
    """
    names = [f"{lang}_{kind}.jsonl" for lang in ("en", "zh") for kind in KINDS]
    earlier = listed_files(build.folder)
    sinks: dict[str, IO[bytes]] = {}
    with ExitStack() as stack:
        for item in build.read("items", Item):
            name = file_of(item)
            if name not in sinks:
                sinks[name] = stack.enter_context(write_whole(build.folder / name))
            sinks[name].write(to_line(item))
    for name in names:
        if sinks and name in earlier and name not in sinks:
            (build.folder / name).unlink(missing_ok=True)
    return {name: hash_file(build.folder / name) for name in names if name in sinks}


def write_lock(build: Build, state: State, models: Mapping[str, str], files: Mapping[str, str]) -> None:
    """Write the lock of a finished build to its folder."""
    seed = msgspec.json.encode(build.recipe) + str(state.begun).encode()
    encoders: dict[str, str] = {lang: encoder_of(build.recipe, lang) for lang in build.recipe.langs}
    if build.recipe.search.engine == "local" and build.recipe.search.encoder:
        encoders["search"] = build.recipe.search.encoder
    lock = Lock(
        ragbed=__version__,
        begun=state.begun.isoformat(),
        canary=f"ragbed-canary-{hashlib.sha256(seed).hexdigest()[:32]}",
        recipe=build.recipe,
        models=dict(sorted(models.items())),
        encoders={lang: f"{name} {open_encoder(name).identity()}" for lang, name in encoders.items()},
        prompts={name: prompt_hash(name) for name in PROMPTS} | {"closed-book": closed_book_hash()},
        sources={article.url: article.sha256 for article in build.read("articles", Article)},
        pages={page.hit: page.article.sha256 for page in build.read("pages", FetchedPage)},
        steps={name: hash_file(build.file_of(name)) for name in state.steps},
        files=dict(files),
    )
    with write_whole(build.folder / LOCK) as sink:
        sink.write(msgspec.json.format(msgspec.json.encode(lock), indent=2) + b"\n")
