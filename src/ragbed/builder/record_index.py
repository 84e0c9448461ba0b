"""A step's records by their places in its file, read when they are needed: a hundred thousand pages must fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, Self, TypeVar

import msgspec

from ragbed.builder.build_context import Build, decode_line

Thing = TypeVar("Thing", bound=msgspec.Struct)


class RecordIndex(Generic[Thing]):
    """The records of a step.

    Args:
        build: Whose they are.
        step: That made them.
        kind: What they are.
    """

    def __init__(self, build: Build, step: str, kind: type[Thing]) -> None:
        self._path, self._step, self._decoder = build.file_of(step), step, msgspec.json.Decoder(kind)
        self._file = open(self._path, "rb")  # noqa: SIM115 - closed on leaving

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets the file go."""
        self._file.close()

    def look_over(self) -> Iterator[tuple[int, Thing]]:
        """Every record with its place; nothing may be taken meanwhile."""
        place = 0
        self._file.seek(0)
        for number, line in enumerate(self._file, 1):
            if not line.isspace():
                yield place, decode_line(self._decoder, line, self._path, number, self._step)
            place += len(line)

    def take(self, place: int) -> Thing:
        """The record at a place."""
        self._file.seek(place)
        return self._decoder.decode(self._file.readline())


class RecordSubset(Generic[Thing]):
    """Some records of a shelf in an order of their own, of which a stretch is read at a time.

    Args:
        shelf: Where they are.
        places: Of each, in the order.
    """

    def __init__(self, shelf: RecordIndex[Thing], places: Sequence[int]) -> None:
        self._shelf, self._places = shelf, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, stretch: slice) -> list[Thing]:
        return [self._shelf.take(place) for place in self._places[stretch]]
