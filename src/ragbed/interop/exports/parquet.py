"""Parquet: cases and trials as typed columns, with the fields of their JSON lines; row groups stream through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, Any, Self

import msgspec

from ragbed.data import Dataset
from ragbed.data.parquet import item_row, item_schema, need_parquet
from ragbed.interop.exports.records_base import ExportedRun, Written
from ragbed.runs.trials import to_trial
from ragbed.schema import Case
from ragbed.testbeds.prompts import prompt_hash

_ROWS = 1_000
"""Of a row group: some 10 MB of documents, which is what is held at once."""


def write_trials(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Every trial a row; one without a reply has its outcome and error, and neither reply nor scores."""
    need_parquet()
    written = Written("trials")
    write_rows((row for _, row in trial_rows(run, written)), trial_schema(), sink)
    return written


def write_items(dataset: Dataset, sink: IO[bytes]) -> Written:
    """Every item a row."""
    need_parquet()
    written = Written("items")

    def rows() -> Iterator[dict[str, object]]:
        for item in dataset.items():
            written.count += 1
            yield item_row(item)

    write_rows(rows(), item_schema(), sink)
    return written


def trial_rows(run: ExportedRun, written: Written) -> Iterator[tuple[Case, dict[str, object]]]:
    """Every trial's case, and the trial as a row."""
    for result in run.results(written):
        row = _asked(to_trial(result, canonical=run.canonical))
        yield result.case, row | {"prompt": prompt_hash(result.case.messages)}


def case_row(case: Case) -> dict[str, object]:
    """A case as a row."""
    return _asked(msgspec.structs.asdict(case)) | {"prompt": prompt_hash(case.messages)}


def _asked(fields: dict[str, object]) -> dict[str, object]:
    """Only feasible cases are rows, so that these fields tell nothing."""
    return {name: value for name, value in fields.items() if name not in ("feasible", "reason")}


def write_rows(rows: Iterable[dict[str, object]], schema: Any, sink: IO[bytes]) -> None:  # noqa: ANN401 - pyarrow has no types
    """Writes rows, a group at a time."""
    with RowWriter(sink, schema) as writer:
        for row in rows:
            writer.write(row)


class RowWriter:
    """Writes rows as they come, a group at a time.

    Args:
        sink: Where to.
        schema: The columns.
        rows: Of a group.
    """

    def __init__(self, sink: Any, schema: Any, rows: int = _ROWS) -> None:  # noqa: ANN401 - pyarrow has no types
        from pyarrow import parquet  # noqa: PLC0415 - an extra

        self._schema, self._rows = schema, rows
        self._writer = parquet.ParquetWriter(sink, schema, compression="zstd")
        self._group: list[dict[str, object]] = []

    def write(self, row: dict[str, object]) -> None:
        """Takes a row."""
        self._group.append(row)
        if len(self._group) >= self._rows:
            self._flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._flush()
        finally:
            self._writer.close()

    def _flush(self) -> None:
        import pyarrow as arrow  # noqa: PLC0415 - an extra

        group, self._group = msgspec.to_builtins(self._group), []
        if group:
            _need_columns(group, self._schema)
            self._writer.write_table(arrow.Table.from_pylist(group, schema=self._schema))


def _need_columns(rows: list[dict[str, Any]], schema: Any) -> None:  # noqa: ANN401 - pyarrow has no types
    """Fails where a value would have no column: pyarrow drops it without a word."""
    scores = {field.name for field in schema.field("scores").type} if "scores" in schema.names else set()
    for row in rows:
        if lost := {*row} - {*schema.names} | {*(row.get("scores") or ())} - scores:
            raise ValueError(f"no column for {', '.join(sorted(lost))} of {row.get('case', row.get('id'))}")


def case_schema() -> Any:  # noqa: ANN401 - pyarrow has no types
    """The columns of a case."""
    import pyarrow as arrow  # noqa: PLC0415 - an extra

    return arrow.schema(_case_fields(arrow))


def trial_schema() -> Any:  # noqa: ANN401 - pyarrow has no types
    """The columns of a trial."""
    import pyarrow as arrow  # noqa: PLC0415 - an extra

    text, number, flag = arrow.string(), arrow.float64(), arrow.bool_()
    scores = {"code.label": arrow.list_(arrow.int8()), "partial": number, "aligned": number, "verdict": text}
    scores |= {f"{track}.{name}": flag for track in ("code", "paper") for name in ("correct", "refused", "flagged")}
    scores |= dict.fromkeys(("paper.equal", "correct", "refused", "flagged", "misled"), flag)
    shares = [f"retrieved_{stance}" for stance in ("supports", "distracts", "contradicts", "unknown")]
    scores |= {"retrieval_told": flag} | dict.fromkeys(("retrieval_recall", *shares, "cited_supports"), number)
    found = arrow.list_(arrow.struct([("id", text), ("stance", text), ("part", arrow.int32()), ("text", text)]))
    usage, messages = arrow.map_(text, arrow.int64()), arrow.list_(arrow.struct([("role", text), ("content", text)]))
    step = {"messages": messages, "reply": text, "usage": usage, "latency_s": number, "cached": flag}
    told = {"model": text, "repeat": arrow.int32(), "outcome": text, "error": text, "reply": text, "finish": text}
    told |= {"reasoning": text, "usage": usage, "latency_s": number}
    told |= {"retrieved": found, "citations": found, "steps": arrow.list_(arrow.struct(list(step.items())))}
    told |= {"attempts": arrow.int32(), "scores": arrow.struct(list(scores.items()))}
    return arrow.schema(_case_fields(arrow) + list(told.items()))


def _case_fields(arrow: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - pyarrow has no types
    text, number, whole = arrow.string(), arrow.float64(), arrow.int32()
    slots = arrow.list_(arrow.list_(text))
    document = {"text": text, "stance": text, "kind": text, "source": whole, "item": text}
    types = {"case": text, "data": text, "item": text, "lang": text, "testbed": text, "question": text}
    types |= {"answer": slots, "fake": slots, "expect": text, "documents": arrow.list_(arrow.struct(document.items()))}
    types |= {"slots": arrow.list_(whole), "messages": arrow.list_(arrow.struct([("role", text), ("content", text)]))}
    types |= {"noise": number, "noise_real": number, "k": whole, "correct": number, "arm": text, "rotation": whole}
    types |= {"profile": text, "seed": arrow.int64(), "event": text, "corpus": text, "prompt": text}
    types |= {"dial": text, "twin": text}
    return list(types.items())
