"""Items, cases and trials as records, in one file or in shards; each record has the key that assigns its shard.

To add a format for shards: a function that counts into `Written`, and one line in the table that fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, NamedTuple, TypeAlias

import msgspec

from ragbed.data import Dataset, native
from ragbed.data.decode import decode_line
from ragbed.data.parquet import item_row, item_schema, need_parquet
from ragbed.interop.exports.frozen import Layout
from ragbed.interop.exports.parquet import RowWriter, trial_rows, trial_schema
from ragbed.interop.exports.records_base import ExportedRun, Written
from ragbed.interop.exports.shards import LINES, Record, ShardFormat
from ragbed.io.jsonl import read_lines
from ragbed.io.locations import local_copy
from ragbed.runs.sharding import key_of
from ragbed.runs.trials import trial_line, trial_lines

Keyed: TypeAlias = Iterator[tuple[str, Record]]
_ROWS = 100
"""Of a row group in each of many parts that are open at once."""


class _Named(msgspec.Struct):
    id: str | int | None = None


_NAMED = msgspec.json.Decoder(_Named)


def _rows(schema: Any) -> ShardFormat:  # noqa: ANN401 - pyarrow has no types
    return ShardFormat(".parquet", partial(RowWriter, schema=schema, rows=_ROWS))


def item_lines(dataset: Dataset, written: Written) -> Keyed:
    """Items in our own format."""
    for item in dataset.items():
        written.count += 1
        yield item.id, native.to_line(item)


def item_rows(dataset: Dataset, written: Written) -> Keyed:
    """Items as rows."""
    for item in dataset.items():
        written.count += 1
        yield item.id, item_row(item)


def any_lines(dataset: Dataset, written: Written) -> Keyed:
    """The lines of any JSONL file, as the steps of a build: by their id where they have one, else by themselves."""
    with local_copy(dataset.path) as here:
        for number, line in read_lines(here, dataset.path):
            written.count += 1
            named = decode_line(_NAMED, dataset.path, number, line)
            yield line.decode() if named.id is None else str(named.id), line.rstrip(b"\n") + b"\n"


def case_lines(layout: Layout, written: Written) -> Keyed:
    """Cases as lines, infeasible ones too."""
    encoder = msgspec.json.Encoder()
    for case in layout.cases():
        written.count += 1
        yield key_of(case), encoder.encode(case) + b"\n"


def _trial_lines(run: ExportedRun, written: Written) -> Keyed:
    for result in run.results(written):
        yield key_of(result.case), trial_line(result, canonical=run.canonical)


def _trial_rows(run: ExportedRun, written: Written) -> Keyed:
    return ((key_of(case), row) for case, row in trial_rows(run, written))


def write_case_lines(layout: Layout, sink: IO[bytes]) -> Written:
    """Write one line per case, as `ragbed cases` does, including infeasible ones."""
    written, encoder = Written("cases"), msgspec.json.Encoder()
    for case in layout.cases():
        sink.write(encoder.encode(case) + b"\n")
        written.count += 1
    return written


def write_trial_lines(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Write one line per trial: the case, the response and the scores."""
    written = Written("trials")
    sink.writelines(trial_lines(run.results(written), canonical=run.canonical))
    return written


class InParts(NamedTuple):
    """A format that can be written in parts."""

    what: str
    """The records are."""
    kind: Callable[[], ShardFormat]
    """How parts are written."""
    records: Callable[[Any, Written], Keyed]


ITEMS = {
    "native": InParts("items", lambda: LINES, item_lines),
    "parquet": InParts("items", lambda: _rows(item_schema()), item_rows),
    "records": InParts("records", lambda: LINES, any_lines),
}
CASES = {"jsonl": InParts("cases", lambda: LINES, case_lines)}
TRIALS = {
    "jsonl": InParts("trials", lambda: LINES, _trial_lines),
    "parquet": InParts("trials", lambda: _rows(trial_schema()), _trial_rows),
}
"""By format."""


def need_library(to: str) -> None:
    """Ends with the install command if a format's library is missing."""
    if to == "parquet":
        need_parquet()
