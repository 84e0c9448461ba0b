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

from ragbed.errors import DataError, UsageError
from ragbed.places import Place
from ragbed.schema import Item

ENDING = ".parquet"
_ROWS = 500
"""Read at a time: some 10 MB of passages."""


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
                    yield number, msgspec.json.encode(_unpacked(row))
    except arrow.ArrowException as error:
        raise DataError(shown, f"is no Parquet file that can be read ({error})", line=number + 1) from None


def item_row(item: Item) -> dict[str, object]:
    """An item as a row."""
    row: dict[str, Any] = msgspec.to_builtins(item)
    row["rgb"] = _packed(item.rgb)
    for passage, written in zip(item.passages, row["passages"], strict=True):
        written["dials"] = _packed(passage.dials)
    return row


def item_schema() -> Any:
    """The columns of an item."""
    import pyarrow as arrow

    text, whole = arrow.string(), arrow.int32()
    texts, slots, span = arrow.list_(text), arrow.list_(arrow.list_(text)), arrow.list_(whole)
    passage = dict.fromkeys(("text", "stance", "kind"), text) | {"part": whole, "edit_of": whole}
    passage |= {"edits": arrow.list_(span), "support": span}
    passage |= dict.fromkeys(("url", "title", "date", "snippet_of", "page", "licence", "dials"), text)
    types = {"id": text, "question": text, "lang": text, "answer": slots, "fake": slots}
    types |= {"passages": arrow.list_(arrow.struct(list(passage.items()))), "rgb": text, "sub_questions": texts}
    types |= dict.fromkeys(("event", "dial", "twin", "date"), text) | {"known_by": texts}
    return arrow.schema(list(types.items()))


def _packed(fields: dict[str, Any] | None) -> str | None:
    return None if fields is None else msgspec.json.encode(fields).decode()


def _unpacked(row: dict[str, Any]) -> dict[str, Any]:
    """A row as a record; columns that hold nothing are left to the record's own defaults."""
    record = {name: value for name, value in row.items() if value is not None}
    _unpack(record, "rgb")
    if isinstance(record.get("passages"), list):
        passages = [passage for passage in record["passages"] if isinstance(passage, dict)]
        record["passages"] = [{name: value for name, value in one.items() if value is not None} for one in passages]
        for passage in record["passages"]:
            _unpack(passage, "dials")
    return record


def _unpack(record: dict[str, Any], name: str) -> None:
    if isinstance(record.get(name), str):
        record[name] = msgspec.Raw(record[name].encode())
