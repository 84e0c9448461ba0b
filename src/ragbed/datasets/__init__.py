"""Datasets in and out: one file per format, told apart by the shape of the records.

To add a format: a module with SIGN, `read_item` and `to_line`, and one line in FORMATS.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import ceil
from pathlib import Path
from typing import Protocol

import msgspec

from ragbed.datasets import native, rgb
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


@dataclass(frozen=True)
class Dataset:
    """A named file of items, read afresh and streaming each time it is iterated."""

    name: str
    path: Path

    def items(self) -> Iterator[Item]:
        """Yields the items in file order; ids are checked to be unique."""
        for _, item in self.numbered_items():
            yield item

    def numbered_items(self) -> Iterator[tuple[int, Item]]:
        """Yields the items with the line each stands on."""
        lines = read_lines(self.path)
        first = next(lines, None)
        if first is None:
            raise DataError(self.path, "is empty; expected one JSON object a line")
        chosen = _tell_format(self.path, *first)
        seen: set[str] = set()
        for number, line in chain([first], lines):
            item = chosen.read_item(self.path, number, line)
            if item.id in seen:
                raise DataError(
                    self.path, f"{item.id!r} stands on an earlier line too; ids must be unique", line=number, field="id"
                )
            seen.add(item.id)
            yield number, item

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


def _tell_format(path: Path, number: int, line: bytes) -> Format:
    try:
        fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Not even JSON: the decoder of the likelier format will say what is wrong.
        return next((form for form in FORMATS.values() if f'"{form.SIGN}"'.encode() in line), native)
    for candidate in FORMATS.values():
        if candidate.SIGN in fields:
            return candidate
    signs = " or ".join(f"{candidate.SIGN!r} ({name})" for name, candidate in FORMATS.items())
    raise DataError(
        path, f"is neither format: a record needs {signs}; found {', '.join(fields) or 'no field'}", line=number
    )
