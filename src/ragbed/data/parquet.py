"""Store items as Parquet: one row per item, with the native format's fields as columns.

Values without fixed fields (`rgb`, `dials`) are stored as JSON text, so that reading returns exactly what was written.
"""

# ruff: noqa: ANN401, PLC0415  # pyarrow is optional and has no type annotations

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from ragbed.errors import DataError, UsageError
from ragbed.schema import Item

ENDING = ".parquet"
_BATCH_ROWS = 500  # number of rows to read at a time, about 10 MB of passages


@cache
def _item_type() -> inspect.Type:
    """Return the fields of an item; this takes a while, so it is done only for Parquet files."""
    return inspect.type_info(Item)


def need_parquet() -> None:
    """Raise a UsageError with the install command if pyarrow is missing."""
    if find_spec("pyarrow") is None:
        raise UsageError("Parquet files require pyarrow: pip install 'ragbed[parquet]'.")


def read_rows(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield each row, numbered from 1, as a line in the native format."""
    need_parquet()
    import pyarrow as arrow
    from pyarrow import parquet

    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_BATCH_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    yield number, msgspec.json.encode(_unpacked(_item_type(), row))
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:  # a damaged page can raise any of these
        message = " ".join(str(error).split())
        problem = f"the file is not a valid Parquet file ({message})"
        raise DataError(path, f"{problem}; copy or export the file again", line=number + 1) from None


def item_row(item: Item) -> dict[str, object]:
    """Convert an item to a row."""
    row: dict[str, object] = _packed(_item_type(), msgspec.to_builtins(item))
    return row


def item_schema() -> Any:
    """Return the Arrow schema of items."""
    import pyarrow as arrow

    return arrow.schema(list(_column(_item_type())))


def column_type(record: type[msgspec.Struct]) -> Any:
    """Return the Arrow type of a record. Dictionaries and unions become text."""
    return _column(inspect.type_info(record))


def _is_text(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.DictType | inspect.UnionType)


def _fields(kind: inspect.StructType) -> dict[str, inspect.Type]:
    return {field.name: _without_none(field.type) for field in kind.fields}


def _without_none(kind: inspect.Type) -> inspect.Type:
    if isinstance(kind, inspect.UnionType):
        some = [member for member in kind.types if not isinstance(member, inspect.NoneType)]
        return some[0] if len(some) == 1 else kind
    return kind


def _inner(kind: inspect.Type) -> inspect.Type | None:
    """Return the element type of a list; spans are lists of two integers."""
    if isinstance(kind, inspect.TupleType):
        return _without_none(kind.item_types[0])
    return _without_none(kind.item_type) if isinstance(kind, inspect.ListType | inspect.VarTupleType) else None


def _column(kind: inspect.Type) -> Any:
    import pyarrow as arrow

    if isinstance(kind, inspect.StructType):
        return arrow.struct([(name, _column(inner)) for name, inner in _fields(kind).items()])
    if (inner := _inner(kind)) is not None:
        return arrow.list_(_column(inner))
    numbers = {inspect.IntType: arrow.int64(), inspect.FloatType: arrow.float64(), inspect.BoolType: arrow.bool_()}
    return numbers.get(type(kind), arrow.string())


def _packed(kind: inspect.Type, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(kind, inspect.StructType):
        return {name: _packed(inner, value.get(name)) for name, inner in _fields(kind).items()}
    if (inner := _inner(kind)) is not None:
        return [_packed(inner, element) for element in value]
    return msgspec.json.encode(value).decode() if _is_text(kind) else value


def _unpacked(kind: inspect.Type, value: Any) -> Any:
    """Convert a column value to the type of a record's field; omit missing values, so that the defaults apply."""
    if isinstance(kind, inspect.StructType) and isinstance(value, dict):
        known = _fields(kind)
        present = {name: inner for name, inner in value.items() if inner is not None}
        return {name: _unpacked(known[name], inner) if name in known else inner for name, inner in present.items()}
    if (inner := _inner(kind)) is not None and isinstance(value, list):
        return [_unpacked(inner, element) for element in value]
    return _parse(value) if _is_text(kind) and isinstance(value, str) else value


def _parse(text: str) -> Any:
    """Decode and re-encode JSON text. Other text is returned unchanged and rejected when the record is decoded.

    The text is never copied verbatim into the line, because it could close its own value and overwrite other fields.
    """
    try:
        return msgspec.Raw(msgspec.json.encode(msgspec.json.decode(text)))
    except (msgspec.MsgspecError, RecursionError):
        return text
