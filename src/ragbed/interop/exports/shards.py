"""Write an export in shards. The hash of a record's key determines its shard; the list of shards is written last.

Shards are streamed, so data that exceeds the local disk can be written to remote storage.
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
from ragbed.io.jsonl import part_of, write_file, write_whole_folder
from ragbed.io.locations import Place, is_there, open_sink, remove, report_errors

# Maximum number of shards. All shards are open at once; operating systems allow a few thousand open files, and each
# remote file has a 5 MB buffer.
MOST = 512

Record: TypeAlias = bytes | dict[str, object]


class ShardFormat(NamedTuple):
    """The format of a shard.

    Attributes:
        ending: The file name suffix.
        open: Function that takes a file and returns a context manager whose `write` method writes one record.
    """

    ending: str
    open: Callable[[Any], Any]


LINES = ShardFormat(".jsonl", io.BufferedWriter)


def write_shards(
    folder: Place, what: str, count: int, records: Iterable[tuple[str, Record]], kind: ShardFormat
) -> None:
    """Write records to shards in a new folder.

    Args:
        folder: A local folder, which appears once it is complete, or a URL, where the list of shards is written last.
        what: The record type, e.g. items.
        count: The number of shards.
        records: The key and content of each record.
        kind: The format of the shards.

    Raises:
        UsageError: The folder exists.
    """
    names = [f"part-{index:05}{kind.ending}" for index in range(count)]
    if isinstance(folder, Path):
        with write_whole_folder(folder) as into:
            _fill(into, what, names, records, kind)
        return
    for name in (LIST, *names):
        if is_there(folder / name):
            raise UsageError(f"{folder} already exists and contains {name}. Choose a new folder.")
    try:
        _fill(folder, what, names, records, kind)
    except BaseException:
        for name in (LIST, *names):
            with suppress(RagbedError):  # the original error is reported instead of this one
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
    listed = Shards(what, tuple(file.summary(name) for file, name in zip(files, names, strict=True)))
    write_file(folder / LIST, msgspec.json.format(msgspec.json.encode(listed), indent=1) + b"\n")


class _PartFile(io.RawIOBase):
    """A shard that counts and hashes the bytes written to it."""

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

    def summary(self, name: str) -> ShardPart:
        return ShardPart(name, self.records, self._size, self._hash.hexdigest())
