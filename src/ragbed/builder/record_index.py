"""Random access to the records of a step on disk: a hundred thousand pages do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Self, TypeVar

import msgspec

from ragbed.builder.build_context import Build, decode_line

Thing = TypeVar("Thing", bound=msgspec.Struct)


class RecordIndex(Generic[Thing]):
    """The records of a step's file. Used as a context manager.

    Args:
        build: The build.
        step: The step that made the records.
        kind: Type of the records.
    """

    def __init__(self, build: Build, step: str, kind: type[Thing]) -> None:
        self._path, self._step, self._decoder = build.file_of(step), step, msgspec.json.Decoder(kind)
        self._file = open(self._path, "rb")  # noqa: SIM115 - closed in __exit__

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def scan(self) -> Iterator[tuple[int, Thing]]:
        """Yield every record with its offset; do not call `read` meanwhile."""
        offset = 0
        self._file.seek(0)
        for number, line in enumerate(self._file, 1):
            if not line.isspace():
                yield offset, decode_line(self._decoder, line, self._path, number, self._step)
            offset += len(line)

    def read(self, offset: int) -> Thing:
        """Return the record at an offset."""
        self._file.seek(offset)
        return self._decoder.decode(self._file.readline())
