"""Worlds on disk: items made in any number of processes, files written whole or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO, NamedTuple

import msgspec
from msgspec import Struct

from ragbed import __version__
from ragbed.data.native import to_line
from ragbed.errors import RagbedError
from ragbed.io.jsonl import write_whole
from ragbed.runs.engines import Engine
from ragbed.runs.engines.local import LocalEngine
from ragbed.schema import Item
from ragbed.synth.counterfactual import make_counterfactual
from ragbed.synth.events import SynthSetting, open_setting
from ragbed.synth.items import make_base, make_integration
from ragbed.synth.spec import SynthSpec

MANIFEST = "manifest.json"
GENERATOR = 3
"""Raised whenever the same recipe would give other bytes."""

MAKERS: dict[str, Callable[[SynthSetting, SynthSpec, int], Item]] = {
    "base": make_base,
    "int": make_integration,
    "fact": make_counterfactual,
}
"""The kinds of files of a world, by the ends of their names."""

_CHUNK = 32
"""Items that are made as one job."""


class _Chunk(NamedTuple):
    """Items to be made."""

    recipe: SynthSpec
    kind: str
    start: int
    stop: int


class WorldFile(Struct, frozen=True):
    """One file of a world, as the manifest has it."""

    items: int
    documents: int
    bytes: int
    sha256: str


class World(Struct, frozen=True):
    """What a folder of generated files was made from."""

    ragbed: str
    generator: int
    recipes: tuple[SynthSpec, ...]
    files: dict[str, WorldFile]


def make_items(recipe: SynthSpec, kind: str, start: int, stop: int) -> Iterator[Item]:
    """Yields the items of a range of ordinals; each depends on its own ordinal only."""
    setting = open_setting(recipe.lang)
    for ordinal in range(start, stop):
        yield MAKERS[kind](setting, recipe, ordinal)


def write_world(
    recipes: tuple[SynthSpec, ...],
    counts: Mapping[str, int],
    folder: Path,
    *,
    workers: int | None = None,
    watch: Callable[[int], None] | None = None,
    prefix: str = "",
) -> World:
    """Writes `{lang}_{kind}.jsonl` for every language and kind, and a manifest last.

    The files get their names when all of them are done; what is ended before that leaves a folder as it was, but
    for hidden `.part` files where it could not tidy up.

    Args:
        recipes: One for each language.
        counts: How many items of each kind; none gives no file.
        folder: Where they go; made if it is not there.
        workers: Processes; None takes as many as there are cores. The bytes do not depend on it.
        watch: Called with the number of items written since the last call.
        prefix: What the names of all files begin with.
    """
    manifest = folder / f"{prefix}{MANIFEST}"
    files = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as sinks, closing(LocalEngine(workers)) as engine:
            for recipe in recipes:
                for kind, count in counts.items():
                    if count:
                        name = f"{prefix}{recipe.lang}_{kind}.jsonl"
                        sink = sinks.enter_context(write_whole(folder / name))
                        files[name] = _write_items(sink, recipe, kind, count, (engine, watch))
            manifest.unlink(missing_ok=True)  # an old one must not vouch for new files
        world = World(__version__, GENERATOR, recipes, files)
        with write_whole(manifest) as sink:
            sink.write(msgspec.json.format(msgspec.json.encode(world), indent=2) + b"\n")
    except OSError as error:
        raise RagbedError(f"{folder} cannot be written: {error.strerror}.") from error
    return world


def read_world(folder: Path) -> World | None:
    """What the files in a folder were made from; None if no manifest tells."""
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=World)
    except (OSError, msgspec.MsgspecError):
        return None


def _write_items(
    sink: IO[bytes],
    recipe: SynthSpec,
    kind: str,
    count: int,
    effort: tuple[Engine, Callable[[int], None] | None],
) -> WorldFile:
    engine, watch = effort
    digest, size, documents = hashlib.sha256(), 0, 0
    chunks = (_Chunk(recipe, kind, start, min(start + _CHUNK, count)) for start in range(0, count, _CHUNK))
    for lines, made, found in engine.spread(_make_chunk, chunks):
        sink.write(lines)
        digest.update(lines)
        size += len(lines)
        documents += found
        if watch is not None:
            watch(made)
    return WorldFile(count, documents, size, digest.hexdigest())


def _make_chunk(chunk: _Chunk) -> tuple[bytes, int, int]:
    """The lines of some items, how many items they are, and how many documents."""
    items = list(make_items(*chunk))
    return b"".join(map(to_line, items)), len(items), sum(len(item.passages) for item in items)
