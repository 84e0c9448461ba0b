"""Items as Parquet: one row an item, with the fields of our own format as columns.

What has no fixed fields (`rgb`, `dials`) is JSON text in its column, so that what is read is what was written.
"""

# ruff: noqa: ANN401, PLC0415  # an extra, and it has no types

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from ragbed.errors import DataError, UsageError
from ragbed.io.locations import Place
from ragbed.schema import Item

ENDING = ".parquet"
_ROWS = 500
"""Read at a time: some 10 MB of passages."""
_ITEM = inspect.type_info(Item)


def need_parquet() -> None:
    """Ends with the install command if the library is missing."""
    if find_spec("pyarrow") is None:
        raise UsageError("Parquet files need the library pyarrow: pip install 'ragbed[parquet]'.")


def read_rows(path: Path, shown: Place) -> Iterator[tuple[int, bytes]]:
    """Yields each row, numbered from 1, as the line that our own format has for it."""
    need_parquet()
    import pyarrow as arrow
    from pyarrow import parquet

    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    yield number, msgspec.json.encode(_unpacked(_ITEM, row))
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:  # what damaged pages come to
        told = " ".join(str(error).split())
        raise DataError(shown, f"is no Parquet file that can be read ({told})", line=number + 1) from None


def item_row(item: Item) -> dict[str, object]:
    """An item as a row."""
    row: dict[str, object] = _packed(_ITEM, msgspec.to_builtins(item))
    return row


def item_schema() -> Any:
    """The columns of an item: those of its record, whatever fields it has."""
    import pyarrow as arrow

    return arrow.schema(list(_column(_ITEM)))


def _is_text(kind: inspect.Type) -> bool:
    """Whether a value has no fixed fields, and is written as JSON."""
    return isinstance(kind, inspect.DictType | inspect.UnionType)


def _without_none(kind: inspect.Type) -> inspect.Type:
    if isinstance(kind, inspect.UnionType):
        some = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
        return some[0] if len(some) == 1 else kind
    return kind


def _inner(kind: inspect.Type) -> inspect.Type | None:
    """What a list is a list of; spans are lists of two."""
    if isinstance(kind, inspect.TupleType):
        return _without_none(kind.item_types[0])
    return _without_none(kind.item_type) if isinstance(kind, inspect.ListType | inspect.VarTupleType) else None


def _column(kind: inspect.Type) -> Any:
    """The type of a column, from that of a field."""
    import pyarrow as arrow

    if isinstance(kind, inspect.StructType):
        return arrow.struct([(field.name, _column(_without_none(field.type))) for field in kind.fields])
    if (inner := _inner(kind)) is not None:
        return arrow.list_(_column(inner))
    numbers = {inspect.IntType: arrow.int64(), inspect.FloatType: arrow.float64(), inspect.BoolType: arrow.bool_()}
    return numbers.get(type(kind), arrow.string())


def _packed(kind: inspect.Type, value: Any) -> Any:
    """A value as its column has it."""
    if value is None:
        return None
    if isinstance(kind, inspect.StructType):
        return {one.name: _packed(_without_none(one.type), value.get(one.name)) for one in kind.fields}
    if (inner := _inner(kind)) is not None:
        return [_packed(inner, one) for one in value]
    return msgspec.json.encode(value).decode() if _is_text(kind) else value


def _unpacked(kind: inspect.Type, value: Any) -> Any:
    """A value as its record has it; what is not there is left to the record's own defaults."""
    if isinstance(kind, inspect.StructType) and isinstance(value, dict):
        known = {field.name: _without_none(field.type) for field in kind.fields}
        told = {name: one for name, one in value.items() if one is not None}
        return {name: _unpacked(known[name], one) if name in known else one for name, one in told.items()}
    if (inner := _inner(kind)) is not None and isinstance(value, list):
        return [_unpacked(inner, one) for one in value]
    return _parse(value) if _is_text(kind) and isinstance(value, str) else value


def _parse(text: str) -> Any:
    """Return JSON text as one value, written again; other text comes back as it is, and the record refuses it.

    The text itself is never copied into the line: it could end its own value and replace other fields of the item.
    """
    try:
        return msgspec.Raw(msgspec.json.encode(msgspec.json.decode(text)))
    except (msgspec.MsgspecError, RecursionError):
        return text
