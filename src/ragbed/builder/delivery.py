"""What a build leaves: a file of items for each language and kind, and a lock that says what they were made from."""

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
from ragbed.errors import MALFORMED_JSON, DataError, RagbedError, UsageError
from ragbed.io.jsonl import write_whole
from ragbed.io.locations import read_regular
from ragbed.retrieval import open_encoder
from ragbed.schema import Article, Item

LOCK = "build.lock"


class Lock(Struct, frozen=True, kw_only=True):
    """What a build was made from, and what came of it."""

    ragbed: str
    begun: str
    canary: str
    """A string that stands nowhere else: a model that can go on with it has seen this benchmark."""
    recipe: Recipe
    models: dict[str, str]
    """Every model that was asked, and what it said it was."""
    encoders: dict[str, str]
    prompts: dict[str, str]
    sources: dict[str, str]
    """Every article's address and the hash of its bytes."""
    pages: dict[str, str]
    """Every page that a search named, likewise."""
    steps: dict[str, str]
    """Every step and the hash of its file."""
    files: dict[str, str]
    """Every file of items and its hash."""


def write_files(build: Build) -> dict[str, str]:
    """Writes the files of items; their names and hashes.

    A file that an earlier build made and this one does not goes, unless nothing was made at all.
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
    """The files of items that a build made in a folder; none where its lock is missing or cannot be read."""
    try:
        return read_lock(folder).files
    except RagbedError:
        return {}


def make_lock(build: Build, state: State, models: Mapping[str, str], files: Mapping[str, str]) -> Lock:
    """The lock of what is there now."""
    recipe = msgspec.json.encode(build.recipe)
    encoders: dict[str, str] = {lang: encoder_of(build.recipe, lang) for lang in build.recipe.langs}
    if build.recipe.search.engine == "local" and build.recipe.search.encoder:
        encoders["search"] = build.recipe.search.encoder
    return Lock(
        ragbed=__version__,
        begun=state.begun.isoformat(),
        canary=f"ragbed-canary-{hashlib.sha256(recipe + str(state.begun).encode()).hexdigest()[:32]}",
        recipe=build.recipe,
        models=dict(sorted(models.items())),
        encoders={lang: f"{name} {open_encoder(name).identity()}" for lang, name in encoders.items()},
        prompts={name: prompt_hash(name) for name in PROMPTS} | {"closed-book": closed_book_hash()},
        sources={one.url: one.sha256 for one in build.read("articles", Article)},
        pages={one.hit: one.article.sha256 for one in build.read("pages", FetchedPage)},
        steps={name: hash_file(build.file_of(name)) for name in state.steps},
        files=dict(files),
    )


def write_lock(folder: Path, lock: Lock) -> None:
    """Writes it beside the files."""
    with write_whole(folder / LOCK) as sink:
        sink.write(msgspec.json.format(msgspec.json.encode(lock), indent=2) + b"\n")


def read_lock(folder: Path) -> Lock:
    """The lock of a folder."""
    path = folder / LOCK
    try:
        return msgspec.json.decode(read_regular(path), type=Lock)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; build once without --locked.") from None
    except MALFORMED_JSON as error:
        raise DataError(path, f"is no lock of this version: {error}; build once without --locked") from error


def check_recipe(folder: Path, lock: Lock, recipe: Recipe) -> None:
    """Refuses another recipe than the lock's, before anything is made of it."""
    if lock.recipe != recipe:
        raise RagbedError(f"{folder} is not what its {LOCK} says: {_difference('recipe', lock.recipe, recipe)}.")


def check_lock(folder: Path, old: Lock, new: Lock) -> None:
    """Refuses a build that is not what its lock says, and names the first cause of the difference.

    Raises:
        RagbedError: Something is not as it was.
    """
    for what in ("ragbed", "encoders", "prompts", "sources", "pages", "steps", "files"):
        was, now = getattr(old, what), getattr(new, what)
        if was != now:
            raise RagbedError(f"{folder} is not what its {LOCK} says: {_difference(what, was, now)}.")


def put_back(made: Path, folder: Path, lock: Lock) -> None:
    """Moves what a locked build made to where it is missing; a file that was changed since is left as it is.

    Raises:
        RagbedError: A file is there and is not what the lock says.
    """
    told = lock.files | {f"steps/{name}.jsonl": digest for name, digest in lock.steps.items()}
    changed = [name for name, digest in told.items() if (folder / name).exists() and hash_file(folder / name) != digest]
    if changed:
        raise RagbedError(
            f"{folder} is not what its {LOCK} says: {', '.join(changed)} changed since, and stays as it is. What is "
            "kept still gives the bytes of the lock: move these files away, and --locked makes them again."
        )
    for path in sorted(made.rglob("*")):
        place = folder / path.relative_to(made)
        if path.is_file() and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            path.rename(place)


def _difference(what: str, was: object, now: object) -> str:
    if isinstance(was, dict) and isinstance(now, dict):
        name = next(key for key in {**was, **now} if was.get(key) != now.get(key))
        return f"{what}: {name} was {was.get(name, 'not there')} and is {now.get(name, 'not there')}"
    if isinstance(was, Recipe) and isinstance(now, Recipe):
        field = next(name for name in was.__struct_fields__ if getattr(was, name) != getattr(now, name))
        return f"{field} of the recipe was {getattr(was, field)!r} and is {getattr(now, field)!r}"
    return f"{what} was {was} and is {now}"
