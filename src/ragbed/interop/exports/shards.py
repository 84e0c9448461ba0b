"""Exports in parts: every record goes to the part that the hash of its key names; the list of the parts comes last.

Parts are written as they come, so that what is larger than this disk can go elsewhere.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from ragbed.data.shards import LIST, ShardPart, Shards
from ragbed.errors import RagbedError, UsageError
from ragbed.io.jsonl import part_of, write_whole, write_whole_folder
from ragbed.io.locations import Place, is_there, open_sink, remove, report_errors

MOST = 512
"""Parts that are open at once: systems allow some thousand files, and what goes elsewhere is held 5 MB a part."""

Record: TypeAlias = bytes | dict[str, object]


class ShardFormat(NamedTuple):
    """How parts are written."""

    ending: str
    open: Callable[[Any], Any]
    """From a file to a context with something that writes one record at a time."""


LINES = ShardFormat(".jsonl", io.BufferedWriter)


def write_shards(
    folder: Place, what: str, count: int, records: Iterable[tuple[str, Record]], kind: ShardFormat
) -> None:
    """Writes records, each with its key, into a new folder.

    Args:
        folder: Here, where it appears when it is whole; or elsewhere, where its list of parts does.
        what: The records are.
        count: Of parts.
        records: Each with what it is divided by.
        kind: Of the parts.

    Raises:
        UsageError: There is something of that name already.
    """
    names = [f"part-{index:05}{kind.ending}" for index in range(count)]
    if isinstance(folder, Path):
        with write_whole_folder(folder) as into:
            _fill(into, what, names, records, kind)
        return
    for name in (LIST, *names):
        if is_there(folder / name):
            raise UsageError(f"{folder} is there already: it has {name}; name a new folder.")
    try:
        _fill(folder, what, names, records, kind)
    except BaseException:
        for name in (LIST, *names):
            with suppress(RagbedError):  # what went wrong first is told
                remove(folder / name)
        raise


def _fill(folder: Place, what: str, names: list[str], records: Iterable[tuple[str, Record]], kind: ShardFormat) -> None:
    with ExitStack() as stack:
        files = [stack.enter_context(_PartFile(folder / name)) for name in names]
        writers = [stack.enter_context(kind.open(file)) for file in files]
        for key, record in records:
            index = part_of(key, len(names))
            writers[index].write(record)
            files[index].records += 1
    listed = Shards(what, tuple(file.told(name) for file, name in zip(files, names, strict=True)))
    with write_whole(folder / LIST) as sink:
        sink.write(msgspec.json.format(msgspec.json.encode(listed), indent=1) + b"\n")


class _PartFile(io.RawIOBase):
    """A part that is being written: its bytes are counted and hashed as they pass."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place, self._sink = place, open_sink(place)
        self._hash, self._size = hashlib.sha256(), 0
        self.records = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, chunk: Any) -> int:  # noqa: ANN401 - any buffer
        with report_errors(self._place, "written"):
            self._sink.write(chunk)
        self._hash.update(chunk)
        self._size += len(chunk)
        return len(chunk)

    def close(self) -> None:
        if not self.closed:
            super().close()
            with report_errors(self._place, "written"):
                self._sink.close()

    def told(self, name: str) -> ShardPart:
        return ShardPart(name, self.records, self._size, self._hash.hexdigest())
