"""Datasets in and out: one file per format, told apart by the shape of the records.

To add a format: a module with SIGN, `read_item` and `to_line`, and one line in FORMATS.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from ragbed.datasets import native, rgb
from ragbed.datasets.decode import decode_line
from ragbed.errors import DataError
from ragbed.schema import Item, Kind
from ragbed.store import read_lines


class Format(Protocol):
    """How one kind of file spells an item."""

    SIGN: str

    def read_item(self, path: Path, number: int, line: bytes) -> Item:
        """Reads one line."""
        ...

    def to_line(self, item: Item) -> bytes:
        """Writes one item."""
        ...


FORMATS: dict[str, Format] = {
    "native": native,
    "rgb": rgb,
}
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Line(NamedTuple):
    """One line of a dataset: an item, or why it is none."""

    number: int
    content: Item | DataError
    size: int
    """In bytes."""
    spelling: str
    """The format, by its name; empty where none could be told."""


@dataclass(frozen=True)
class Dataset:
    """A named file of items, read afresh and streaming each time it is iterated."""

    name: str
    path: Path

    def items(self) -> Iterator[Item]:
        """Yields the items in file order, or raises what is wrong with the first line that is none."""
        for line in self.lines():
            if isinstance(line.content, DataError):
                raise line.content
            yield line.content

    def lines(self) -> Iterator[Line]:
        """Yields every line as an item or as what is wrong with it; ends early only where nothing more can be read."""
        spelling = ""
        seen: set[str] = set()
        number = 0
        try:
            for number, line in read_lines(self.path):
                try:
                    spelling = spelling or self._tell_format(number, line)
                    item = FORMATS[spelling].read_item(self.path, number, line)
                    if item.id in seen:
                        problem = f"{item.id!r} stands on an earlier line too; ids must be unique"
                        raise DataError(self.path, problem, line=number, field="id")
                except DataError as error:
                    yield Line(number, error, len(line), spelling)
                else:
                    seen.add(item.id)
                    yield Line(number, item, len(line), spelling)
        except DataError as error:  # another encoding, or a line without end
            yield Line(error.line or 1, error, 0, spelling)
        else:
            if not number:
                yield Line(1, DataError(self.path, "is empty; expected one JSON object a line"), 0, spelling)

    def _tell_format(self, number: int, line: bytes) -> str:
        """The name of the format, by the fields of the first line that is an object."""
        fields = decode_line(_OBJECT, self.path, number, line)
        for name, candidate in FORMATS.items():
            if candidate.SIGN in fields:
                return name
        signs = " or ".join(f"{candidate.SIGN!r} ({name})" for name, candidate in FORMATS.items())
        found = ", ".join(fields) or "no field"
        raise DataError(self.path, f"is neither format: a record needs {signs}; found {found}", line=number)

    def resolve_limit(self, limit: int | Fraction | None) -> int | None:
        """How many items a limit lets through: itself, that fraction of them rounded up, or all (None)."""
        return ceil(limit * sum(1 for _ in self.items())) if isinstance(limit, Fraction) else limit

    def sha256(self) -> str:
        """The hash of the file's bytes."""
        with open(self.path, "rb") as source:
            return hashlib.file_digest(source, "sha256").hexdigest()


def kind_of(item: Item) -> Kind:
    """What an item can test, by the fields it has."""
    if item.fake is not None:
        return "counterfactual"
    if any(passage.part is not None for passage in item.passages):
        return "integration"
    return "base"
