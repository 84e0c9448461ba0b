"""Write items, cases and trials as records, in one file or in shards; a record's key determines its shard.

To add a sharded format, write a function that updates the counts in `Written`, and register it in a table below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, NamedTuple, TypeAlias

import msgspec

from ragbed.data import Dataset, native
from ragbed.data.decode import decode_line
from ragbed.data.parquet import item_row, item_schema
from ragbed.interop.exports.frozen import Layout
from ragbed.interop.exports.parquet import RowWriter, trial_row, trial_schema
from ragbed.interop.exports.records_base import ExportedRun, Written
from ragbed.interop.exports.shards import LINES, Record, ShardFormat
from ragbed.io.jsonl import read_lines
from ragbed.io.locations import local_copy
from ragbed.runs.sharding import key_of
from ragbed.runs.trials import trial_line

Keyed: TypeAlias = Iterator[tuple[str, Record]]
_GROUP_ROWS = 100  # number of rows per row group; kept low because many shards are open at once


class _Identified(msgspec.Struct):
    id: str | int | None = None


_DECODER = msgspec.json.Decoder(_Identified)


def _items(dataset: Dataset, written: Written, convert: Callable[..., Record]) -> Keyed:
    for item in dataset.items():
        written.count += 1
        yield item.id, convert(item)


def _lines(dataset: Dataset, written: Written) -> Keyed:
    """Yield the lines of any JSONL file, e.g. a build step's output, keyed by ID, or by text if a line has no ID."""
    with local_copy(dataset.path) as here:
        for number, line in read_lines(here, dataset.path):
            written.count += 1
            record = decode_line(_DECODER, dataset.path, number, line)
            yield line.decode() if record.id is None else str(record.id), line.rstrip(b"\n") + b"\n"


def _cases(layout: Layout, written: Written) -> Iterator[tuple[str, bytes]]:
    encoder = msgspec.json.Encoder()
    for case in layout.cases():
        written.count += 1
        yield key_of(case), encoder.encode(case) + b"\n"


def _trials(run: ExportedRun, written: Written, convert: Callable[..., Record]) -> Keyed:
    for result in run.results(written):
        yield key_of(result.case), convert(result, canonical=run.canonical)


def write_case_lines(layout: Layout, sink: IO[bytes]) -> Written:
    """Write one line per case, including infeasible cases, as `ragbed cases` does."""
    written = Written("cases")
    sink.writelines(line for _, line in _cases(layout, written))
    return written


def write_trial_lines(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Write one line per trial: the case, the response and the scores."""
    written = Written("trials")
    sink.writelines(trial_line(result, canonical=run.canonical) for result in run.results(written))
    return written


class InParts(NamedTuple):
    """A format that can be written in shards.

    Attributes:
        what: The record type, e.g. items.
        kind: Function that returns the shard format.
        records: Function that yields a source's records with their keys.
    """

    what: str
    kind: Callable[[], ShardFormat]
    records: Callable[[Any, Written], Keyed]


def _rows(schema: Callable[[], Any]) -> ShardFormat:
    return ShardFormat(".parquet", partial(RowWriter, schema=schema(), rows=_GROUP_ROWS))


ITEMS = {
    "native": InParts("items", lambda: LINES, partial(_items, convert=native.to_line)),
    "parquet": InParts("items", lambda: _rows(item_schema), partial(_items, convert=item_row)),
    "records": InParts("records", lambda: LINES, _lines),
}
CASES = {"jsonl": InParts("cases", lambda: LINES, _cases)}
TRIALS = {
    "jsonl": InParts("trials", lambda: LINES, partial(_trials, convert=trial_line)),
    "parquet": InParts("trials", lambda: _rows(trial_schema), partial(_trials, convert=trial_row)),
}
