"""Run a build: execute a recipe's steps, and write the item files, the lock file and the quality report."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import IO

import msgspec
from msgspec import Struct

from ragbed import __version__
from ragbed.builder.build_context import Build, FetchedPage, listed_files
from ragbed.builder.funnel import Delivery, compare_delivery, main_reasons
from ragbed.builder.items import KINDS
from ragbed.builder.model_calls import CALLS, PROMPTS, closed_book_hash, find_identities, prompt_hash
from ragbed.builder.pipeline import Done, State, run_steps
from ragbed.builder.quality import write_quality
from ragbed.builder.ranking import check_engine
from ragbed.builder.recipe import Recipe, encoder_of, models_of
from ragbed.builder.sources import LOCK
from ragbed.data.native import to_line
from ragbed.errors import option
from ragbed.io.jsonl import write_whole
from ragbed.io.pins import hash_file
from ragbed.retrieval import BM25, open_encoder
from ragbed.runs.lock import hold
from ragbed.schema import Article, Item


def run_build(build: Build, start: str | None, message: Callable[[str], None]) -> tuple[State, list[Delivery]]:
    """Run a build, and return the state of its steps and the numbers of requested and delivered items in each file.

    Args:
        build: The build.
        start: Step to repeat, together with all later steps; None runs only steps that are missing or out of date.
        message: Called with a line about each step and about the result.
    """
    with hold(build.folder):
        check_engine(build)
        state = run_steps(
            build, start, lambda name, done, was_done: message(describe_step(name, done, was_done=was_done))
        )
        deliveries = compare_delivery(build, state)
        files = write_files(build)
        if not files and listed_files(build.folder):
            message(f"No items were built. The item files of the earlier build in {build.folder} were kept.")
            return state, deliveries
        write_lock(build, state, files)
        if line := write_quality(build.folder):
            message(line)
        return state, deliveries


def describe_step(name: str, done: Done, *, was_done: bool) -> str:
    """Return a line with a step's counts."""
    lost = f"; rejected: {main_reasons(done)}" if done.rejected else ""
    kept = f" (unchanged; {option('from_', name)} runs it again)" if was_done else ""
    return f"{name}: {done.entered:,} → {done.made:,}{lost}{kept}"


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
            lang, kind, _ = item.id.split("-")
            name = f"{lang}_{kind}.jsonl"
            if name not in sinks:
                sinks[name] = stack.enter_context(write_whole(build.folder / name))
            sinks[name].write(to_line(item))
    for name in names:
        if sinks and name in earlier and name not in sinks:
            (build.folder / name).unlink(missing_ok=True)
    return {name: hash_file(build.folder / name) for name in names if name in sinks}


def write_lock(build: Build, state: State, files: Mapping[str, str]) -> None:
    """Write the lock of a finished build to its folder."""
    seed = msgspec.json.encode(build.recipe) + str(state.begun).encode()
    encoders = {lang: encoder_of(build.recipe, lang) for lang in build.recipe.langs}
    lock = Lock(
        ragbed=__version__,
        begun=state.begun.isoformat(),
        canary=f"ragbed-canary-{hashlib.sha256(seed).hexdigest()[:32]}",
        recipe=build.recipe,
        models=find_identities(build.folder / CALLS, models_of(build.recipe)),
        encoders={
            lang: name if name == BM25 else f"{name} {open_encoder(name).identity()}" for lang, name in encoders.items()
        },
        prompts={name: prompt_hash(name) for name in PROMPTS} | {"closed-book": closed_book_hash()},
        sources={article.url: article.sha256 for article in build.read("articles", Article)},
        pages={page.hit: page.article.sha256 for page in build.read("pages", FetchedPage)},
        steps={name: hash_file(build.file_of(name)) for name in state.steps},
        files=dict(files),
    )
    with write_whole(build.folder / LOCK) as sink:
        sink.write(msgspec.json.format(msgspec.json.encode(lock), indent=2) + b"\n")
