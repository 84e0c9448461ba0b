"""Write a run as a Parquet file with one flat row per trial, as in `Run.to_pandas`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from typing import IO, Any

import msgspec

from ragbed.errors import UsageError
from ragbed.interop.exports.records_base import ExportedRun, Written
from ragbed.runs.trials import flatten_trial, trial_fields

_GROUP_ROWS = 1_000  # number of rows per row group; their documents take up about 10 MB of memory


def need_parquet() -> None:
    """Raise a UsageError with the install command if pyarrow is missing."""
    if find_spec("pyarrow") is None:
        raise UsageError("Parquet files require pyarrow: pip install 'ragbed[parquet]'.")


def write_trials(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Write one row per trial, including trials without a response. Lists and objects are stored as JSON text."""
    need_parquet()
    import pyarrow as arrow  # noqa: PLC0415 - an extra
    from pyarrow import parquet  # noqa: PLC0415 - an extra

    types = {bool: arrow.bool_(), int: arrow.int64(), float: arrow.float64(), str: arrow.string()}
    columns: dict[str, Any] = {}
    for row in _rows(run, Written("trials")):  # the columns and their types are known after the last row
        for name, value in row.items():
            known, found = columns.get(name), types.get(type(value))
            columns[name] = types[float] if {known, found} == {types[int], types[float]} else known or found
    schema = arrow.schema([(name, kind or types[str]) for name, kind in columns.items()])
    written = Written("trials")
    rows = _rows(run, written)
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        while group := list(islice(rows, _GROUP_ROWS)):
            writer.write_table(arrow.Table.from_pylist(group, schema=schema))
    return written


def _rows(run: ExportedRun, written: Written) -> Iterator[dict[str, Any]]:
    for result, scores in run.trials(written):
        row = flatten_trial(msgspec.to_builtins(trial_fields(result, scores, canonical=run.canonical)))
        yield {
            name: msgspec.json.encode(value).decode() if isinstance(value, list | tuple | dict) else value
            for name, value in row.items()
        }
