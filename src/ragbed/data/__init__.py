"""Datasets in and out: one file per format, told apart by the shape of the records.

To add a format: a module with SIGN, `read_item` and `to_line`, and one line in FORMATS.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from ragbed.data import native, rgb
from ragbed.data.decode import decode_line
from ragbed.data.parquet import ENDING, read_rows
from ragbed.errors import DataError
from ragbed.io.jsonl import read_lines
from ragbed.io.locations import Place, Url, local_copy
from ragbed.schema import Item, Kind


class Format(Protocol):
    """How one kind of file spells an item."""

    SIGN: str

    def read_item(self, path: Place, number: int, line: bytes) -> Item:
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
    path: Place
    _first: list[str] = field(default_factory=list, init=False, repr=False, compare=False)
    """The hash of what an address held when it was first fetched."""

    def items(self) -> Iterator[Item]:
        """Yields the items in file order, or raises what is wrong with the first line that is none."""
        for line in self.lines():
            if isinstance(line.content, DataError):
                raise line.content
            yield line.content

    def lines(self) -> Iterator[Line]:
        """Yields every line as an item or as what is wrong with it; ends early only where nothing more can be read."""
        with self._fetched() as here:
            yield from read_file(here, self.path)

    def resolve_limit(self, limit: int | Fraction | None) -> int | None:
        """How many items a limit lets through: itself, that fraction of them rounded up, or all (None)."""
        return ceil(limit * self.count()) if isinstance(limit, Fraction) else limit

    def count(self) -> int:
        """How many items there are."""
        return sum(1 for _ in self.items())

    def size(self) -> int:
        """In bytes; 0 where that is not known beforehand."""
        return self.path.stat().st_size if isinstance(self.path, Path) else 0

    def sha256(self) -> str:
        """The hash of the file's bytes."""
        with self._fetched() as here:
            return _digest(here)

    @contextmanager
    def _fetched(self) -> Iterator[Path]:
        """The file here; an address is fetched each time, and must hold the same each time."""
        with local_copy(self.path) as here:
            if isinstance(self.path, Url):
                found = _digest(here)
                if not self._first:
                    self._first.append(found)
                if found != self._first[0]:
                    told = f"(sha256 {found[:12]}…, not {self._first[0][:12]}…)"
                    raise DataError(self.path, f"changed while it was read {told}; type the command again")
            yield here


def _digest(path: Path) -> str:
    with open(path, "rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def read_file(path: Path, shown: Place) -> Iterator[Line]:
    """Every line of a file here as an item or as what is wrong with it.

    Args:
        path: The file.
        shown: What errors call it.
    """
    spelling = ""
    seen: set[str] = set()
    number = 0
    try:
        for number, line in read_rows(path, shown) if shown.name.endswith(ENDING) else read_lines(path, shown):
            try:
                spelling = spelling or _tell_format(shown, number, line)
                item = FORMATS[spelling].read_item(shown, number, line)
                if item.id in seen:
                    problem = f"{item.id!r} stands on an earlier line too; ids must be unique"
                    raise DataError(shown, problem, line=number, field="id")
            except DataError as error:
                yield Line(number, error, len(line), spelling)
            else:
                seen.add(item.id)
                yield Line(number, item, len(line), spelling)
    except DataError as error:  # another encoding, or a line without end
        yield Line(error.line or 1, error, 0, spelling)
    else:
        if not number:
            yield Line(1, DataError(shown, "is empty; expected one JSON object a line"), 0, spelling)


def _tell_format(shown: Place, number: int, line: bytes) -> str:
    """The name of the format, by the fields of the first line that is an object."""
    fields = decode_line(_OBJECT, shown, number, line)
    for name, candidate in FORMATS.items():
        if candidate.SIGN in fields:
            return name
    signs = " or ".join(f"{candidate.SIGN!r} ({name})" for name, candidate in FORMATS.items())
    found = ", ".join(fields) or "no field"
    raise DataError(shown, f"is neither format: a record needs {signs}; found {found}", line=number)


def kind_of(item: Item) -> Kind:
    """What an item can test, by the fields it has."""
    if item.fake is not None:
        return "counterfactual"
    if any(passage.part is not None for passage in item.passages):
        return "integration"
    return "base"
