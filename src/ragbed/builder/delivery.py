"""Write a build's results: one item file per language and kind, and a lock with the hashes of all inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from ragbed import __version__
from ragbed.builder.build_context import Build, hash_file
from ragbed.builder.items import KINDS, file_of
from ragbed.builder.model_requests import PROMPTS, closed_book_hash, prompt_hash
from ragbed.builder.pipeline import State
from ragbed.builder.recipe import Recipe, encoder_of
from ragbed.builder.records import FetchedPage
from ragbed.data.native import to_line
from ragbed.errors import MALFORMED_JSON, RagbedError
from ragbed.io.jsonl import write_whole
from ragbed.io.locations import read_regular
from ragbed.retrieval import open_encoder
from ragbed.schema import Article, Item

LOCK = "build.lock"


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


class _Files(Struct, frozen=True):
    """The part of a lock that lists the item files."""

    files: dict[str, str]


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


def listed_files(folder: Path) -> dict[str, str]:
    """Return the names and hashes of the item files in a folder's lock, or an empty dict if the lock cannot be read."""
    try:
        return msgspec.json.decode(read_regular(folder / LOCK), type=_Files).files
    except (OSError, RagbedError, *MALFORMED_JSON):
        return {}


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
