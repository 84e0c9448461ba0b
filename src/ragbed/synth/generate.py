"""Generate synthetic datasets in parallel and write them atomically."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from ragbed import __version__
from ragbed.data.native import to_line
from ragbed.errors import RagbedError, explain_failed_write
from ragbed.io.jsonl import write_file, write_whole
from ragbed.runs.engines.local import LocalEngine
from ragbed.schema import Item
from ragbed.synth.counterfactual import make_counterfactual
from ragbed.synth.items import make_base, make_integration
from ragbed.synth.spec import SynthSpec

MANIFEST = "manifest.json"
GENERATOR = 3  # generator version; increase it whenever the same settings produce different bytes

# Functions that generate items, keyed by the kind in the file name `{lang}_{kind}.jsonl`.
_MAKERS: dict[str, Callable[[SynthSpec, int], Item]] = {
    "base": make_base,
    "int": make_integration,
    "fact": make_counterfactual,
}

_CHUNK = 32  # number of items per worker job


class SynthFile(Struct, frozen=True):
    """One file in a synthetic dataset, as listed in the manifest."""

    items: int
    documents: int
    bytes: int
    sha256: str


class SynthManifest(Struct, frozen=True):
    """The manifest in a folder of generated files: versions, settings per language, and a list of the files."""

    ragbed: str
    generator: int
    recipes: tuple[SynthSpec, ...]
    files: dict[str, SynthFile]


def make_items(spec: SynthSpec, kind: str, start: int, stop: int) -> Iterator[Item]:
    """Yield the items in a range of ordinals. Each item depends only on its own ordinal."""
    for ordinal in range(start, stop):
        yield _MAKERS[kind](spec, ordinal)


def write_dataset(
    specs: tuple[SynthSpec, ...],
    counts: Mapping[str, int],
    folder: Path,
    *,
    workers: int | None = None,
    on_progress: Callable[[int], None] = lambda _: None,
) -> SynthManifest:
    """Write `{lang}_{kind}.jsonl` for every language and kind, followed by a manifest.

    The files are renamed to their final names once all of them are complete. An interrupted command leaves the folder
    unchanged, except for hidden `.part` files if the process was killed.

    Args:
        specs: The settings for each language.
        counts: The number of items of each kind; no file is written for 0 items.
        folder: The folder, which is created if necessary.
        workers: The number of processes, or None for one per core. It does not affect the bytes written.
        on_progress: Called with the number of items written since the last call.
    """
    files = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as sinks, closing(LocalEngine(workers)) as engine:
            for spec in specs:
                for kind, count in counts.items():
                    if count:
                        name = f"{spec.lang}_{kind}.jsonl"
                        sink = sinks.enter_context(write_whole(folder / name))
                        files[name] = _write_items(sink, (spec, kind, count), engine, on_progress)
            (folder / MANIFEST).unlink(missing_ok=True)  # an old manifest must not describe new files
        content = SynthManifest(__version__, GENERATOR, specs, files)
        write_file(folder / MANIFEST, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
    except OSError as error:
        raise RagbedError(f"{folder} cannot be written to: {explain_failed_write(error)}.") from error
    return content


def read_manifest(folder: Path) -> SynthManifest | None:
    """Return a folder's manifest, or None if there is no valid one."""
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=SynthManifest)
    except (OSError, msgspec.MsgspecError):
        return None


def _write_items(
    sink: IO[bytes], items: tuple[SynthSpec, str, int], engine: LocalEngine, on_progress: Callable[[int], None]
) -> SynthFile:
    digest, size, documents = hashlib.sha256(), 0, 0
    spec, kind, count = items
    chunks = ((spec, kind, start, min(start + _CHUNK, count)) for start in range(0, count, _CHUNK))
    for lines, item_count, document_count in engine.spread(_make_chunk, chunks):
        sink.write(lines)
        digest.update(lines)
        size += len(lines)
        documents += document_count
        on_progress(item_count)
    return SynthFile(count, documents, size, digest.hexdigest())


def _make_chunk(chunk: tuple[SynthSpec, str, int, int]) -> tuple[bytes, int, int]:
    """Return the JSON lines for a chunk of items, the number of items and the number of documents."""
    items = list(make_items(*chunk))
    return b"".join(map(to_line, items)), len(items), sum(len(item.passages) for item in items)
