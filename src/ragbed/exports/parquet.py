"""Parquet: cases and trials as typed columns, with the fields of their JSON lines; row groups stream through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import islice
from typing import IO, Any

import msgspec

from ragbed.errors import UsageError
from ragbed.exports.written import Run, Written
from ragbed.prompts import prompt_hash
from ragbed.runner.trials import to_trial
from ragbed.schema import Case

_ROWS = 1_000
"""Of a row group: some 10 MB of documents, which is what is held at once."""


def need_parquet() -> None:
    """Ends with the install command if the library is missing."""
    if find_spec("pyarrow") is None:
        raise UsageError("Parquet files need the library pyarrow: pip install 'ragbed[parquet]'.")


def write_trials(run: Run, sink: IO[bytes]) -> Written:
    """Every trial a row; one without a reply has its outcome and error, and neither reply nor scores."""
    need_parquet()
    written = Written("trials")
    rows = (
        _asked(to_trial(result, canonical=run.canonical)) | {"prompt": prompt_hash(result.case.messages)}
        for result in run.results(written)
    )
    write_rows(rows, _trial_schema(), sink)
    return written


def case_row(case: Case) -> dict[str, object]:
    """A case as a row."""
    return _asked(msgspec.structs.asdict(case)) | {"prompt": prompt_hash(case.messages)}


def _asked(fields: dict[str, object]) -> dict[str, object]:
    """Only feasible cases are rows, so that these fields tell nothing."""
    return {name: value for name, value in fields.items() if name not in ("feasible", "reason")}


def write_rows(rows: Iterable[dict[str, object]], schema: Any, sink: IO[bytes]) -> None:  # noqa: ANN401 - pyarrow has no types
    """Writes rows, a group at a time."""
    import pyarrow as arrow  # noqa: PLC0415 - an extra
    from pyarrow import parquet  # noqa: PLC0415

    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        for group in _groups(iter(rows)):
            builtins = msgspec.to_builtins(group)
            _need_columns(builtins, schema)
            writer.write_table(arrow.Table.from_pylist(builtins, schema=schema))


def _need_columns(rows: list[dict[str, Any]], schema: Any) -> None:  # noqa: ANN401 - pyarrow has no types
    """Fails where a value would have no column: pyarrow drops it without a word."""
    scores = {field.name for field in schema.field("scores").type} if "scores" in schema.names else set()
    for row in rows:
        if lost := {*row} - {*schema.names} | {*(row.get("scores") or ())} - scores:
            raise ValueError(f"no column for {', '.join(sorted(lost))} of {row['case']}")


def _groups(rows: Iterator[dict[str, object]]) -> Iterator[list[dict[str, object]]]:
    while group := list(islice(rows, _ROWS)):
        yield group


def case_schema() -> Any:  # noqa: ANN401 - pyarrow has no types
    """The columns of a case."""
    import pyarrow as arrow  # noqa: PLC0415 - an extra

    return arrow.schema(_case_fields(arrow))


def _trial_schema() -> Any:  # noqa: ANN401 - pyarrow has no types
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
    return list(types.items())
