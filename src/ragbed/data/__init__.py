"""Read and write datasets. Each file format has its own module and is detected from the fields of a record.

To add a format, write a module with SIGN, `read_item` and `to_line`, and add a line to FORMATS.
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
    """A file format whose records are recognised by the field named in `SIGN`."""

    SIGN: str

    def read_item(self, path: Place, number: int, line: bytes) -> Item:
        """Parse one line of a file as an item."""

    def to_line(self, item: Item) -> bytes:
        """Encode an item as one line of a file."""


FORMATS: dict[str, Format] = {
    "native": native,
    "rgb": rgb,
}
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Line(NamedTuple):
    """One line of a dataset: an item, or an error if the line is not a valid item."""

    number: int
    content: Item | DataError
    size: int  # size in bytes
    spelling: str  # name of the format; empty if no format was detected


@dataclass(frozen=True)
class Dataset:
    """A named file of items; each iteration reads the file from the start."""

    name: str
    path: Place
    # The hash of the first download from a URL, stored in a list because the dataclass is frozen.
    _first: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    def items(self) -> Iterator[Item]:
        """Yield the items in file order, and raise an error at the first line that is not a valid item."""
        for line in self.lines():
            if isinstance(line.content, DataError):
                raise line.content
            yield line.content

    def lines(self) -> Iterator[Line]:
        """Yield every line as an item or an error. Stop early only if the remaining lines cannot be read."""
        with self._fetched() as here:
            yield from read_file(here, self.path)

    def resolve_limit(self, limit: int | Fraction | None) -> int | None:
        """Convert a limit to a number of items, rounding up if the limit is a fraction; None means all items."""
        return ceil(limit * self.count()) if isinstance(limit, Fraction) else limit

    def count(self) -> int:
        """Return the number of items."""
        return sum(1 for _ in self.items())

    def size(self) -> int:
        """Return the size in bytes, or 0 if it is not known in advance."""
        return self.path.stat().st_size if isinstance(self.path, Path) else 0

    def sha256(self) -> str:
        """Return the hash of the file's bytes."""
        with self._fetched() as here:
            return hash_file(here)

    @contextmanager
    def _fetched(self) -> Iterator[Path]:
        """Yield a local copy of the file. Each call downloads a URL again and checks that its content is unchanged."""
        with local_copy(self.path) as here:
            if isinstance(self.path, Url):
                found = hash_file(here)
                if found != (self._first or [found])[0]:
                    change = f"sha256 {found[:12]}…, not {self._first[0][:12]}…"
                    raise DataError(self.path, f"changed while it was being read ({change}); rerun the command")
                self._first[:] = [found]
            yield here


def hash_file(path: Path) -> str:
    """Return the SHA-256 hash of a file."""
    with open(path, "rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def read_file(path: Path, shown: Place) -> Iterator[Line]:
    """Yield every line of a local file as an item or an error.

    Args:
        path: The file.
        shown: The file name to show in errors.
    """
    spelling = ""
    seen: set[str] = set()
    number = 0
    try:
        for number, line in read_rows(path, shown) if shown.name.endswith(ENDING) else read_lines(path, shown):
            try:
                spelling = spelling or _detect_format(shown, number, line)
                item = FORMATS[spelling].read_item(shown, number, line)
                if item.id in seen:
                    problem = f"{item.id!r} already appears on an earlier line; IDs must be unique"
                    raise DataError(shown, problem, line=number, field="id")
            except DataError as error:
                yield Line(number, error, len(line), spelling)
            else:
                seen.add(item.id)
                yield Line(number, item, len(line), spelling)
    except DataError as error:  # unsupported encoding, or a line that is too long
        yield Line(error.line or 1, error, 0, spelling)
    else:
        if not number:
            yield Line(1, DataError(shown, "is empty; expected one JSON object per line"), 0, spelling)


def _detect_format(shown: Place, number: int, line: bytes) -> str:
    fields = decode_line(_OBJECT, shown, number, line)
    for name, candidate in FORMATS.items():
        if candidate.SIGN in fields:
            return name
    signs = " or ".join(f"{candidate.SIGN!r} ({name})" for name, candidate in FORMATS.items())
    found = ", ".join(fields) or "none"
    raise DataError(
        shown,
        f"unknown record format; expected the field {signs}, but found {found}; see docs/reference/file-formats.md",
        line=number,
    )


def kind_of(item: Item) -> Kind:
    """Infer an item's kind from its fields."""
    if item.fake is not None:
        return "counterfactual"
    return "integration" if any(passage.part is not None for passage in item.passages) else "base"
