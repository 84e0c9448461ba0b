"""Whether every line is a record: read on after a bad one, so that all of them are found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from ragbed.datasets import FORMATS, Dataset, Format
from ragbed.datasets.decode import decode_line
from ragbed.errors import DataError
from ragbed.lint.rule import Fault, Find, Survey, View, dataset_rule
from ragbed.schema import Item
from ragbed.store import read_lines

_FIX = "Correct the line; docs/data-format.md lists the fields."
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Line(NamedTuple):
    """One line of a file: an item, or why it is none."""

    number: int
    content: Item | DataError
    size: int
    """In bytes."""


@dataset_rule("record", "error", "a line is no valid record, or repeats an id", fix=_FIX)
def record(survey: Survey) -> Find:  # noqa: ARG001
    """Always runs, as reading does it: `read_records` below finds what this rule reports."""

    def find(view: View) -> Iterable[Fault]:  # noqa: ARG001
        return ()

    return find


def read_records(dataset: Dataset) -> Iterator[Line]:
    """Yields every line as an item or as what is wrong with it; ends early only where nothing further can be read."""
    chosen: Format | None = None
    seen: set[str] = set()
    empty = True
    try:
        for number, line in read_lines(dataset.path):
            empty = False
            try:
                chosen = chosen or _tell_format(dataset, number, line)
                item = chosen.read_item(dataset.path, number, line)
                if item.id in seen:
                    raise DataError(dataset.path, f"{item.id!r} stands on an earlier line too", field="id")
            except DataError as error:
                yield Line(number, error, len(line))
                continue
            seen.add(item.id)
            yield Line(number, item, len(line))
    except DataError as error:  # another encoding, or a line without end
        empty = False
        yield Line(error.line or 1, error, 0)
    if empty:
        yield Line(1, DataError(dataset.path, "the file is empty; expected one JSON object a line"), 0)


def _tell_format(dataset: Dataset, number: int, line: bytes) -> Format:
    """The format by the fields of the first line that is an object; what is no object is said as such."""
    fields = decode_line(_OBJECT, dataset.path, number, line)
    for candidate in FORMATS.values():
        if candidate.SIGN in fields:
            return candidate
    signs = " or ".join(f"{candidate.SIGN!r} ({name})" for name, candidate in FORMATS.items())
    raise DataError(dataset.path, f"is neither format: a record needs {signs}; found {', '.join(fields) or 'no field'}")
