"""Write cases, trials and items as Parquet files, one row group at a time, with the same fields as in JSON Lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import IO, Any

import msgspec

from ragbed.data import Dataset
from ragbed.data.parquet import item_row, item_schema, need_parquet
from ragbed.interop.exports.records_base import ExportedRun, Written
from ragbed.runs.store import StoredResult
from ragbed.runs.trials import trial_fields
from ragbed.schema import Case, Served
from ragbed.scoring.citations import CITATION_SCORES
from ragbed.scoring.search import SEARCH_ERRORS, SEARCH_SCORES
from ragbed.scoring.value import Value
from ragbed.testbeds.prompts import prompt_hash

_GROUP_ROWS = 1_000  # number of rows per row group; their documents take up about 10 MB of memory


def write_trials(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Write one row per trial; including trials without a response."""
    need_parquet()
    written = Written("trials")
    rows = (trial_row(result, scores, canonical=run.canonical) for result, scores in run.trials(written))
    write_rows(rows, trial_schema(), sink)
    return written


def write_items(dataset: Dataset, sink: IO[bytes]) -> Written:
    """Write one row per item."""
    need_parquet()
    count = write_rows(map(item_row, dataset.items()), item_schema(), sink)
    return Written("items", count)


def trial_row(result: StoredResult, scores: Mapping[str, Value] | None, *, canonical: bool) -> dict[str, object]:
    """Return a trial as a row."""
    return _row(trial_fields(result, scores, canonical=canonical), result.case)


def case_row(case: Case) -> dict[str, object]:
    """Return a case as a row."""
    return _row(msgspec.structs.asdict(case), case)


def _row(fields: dict[str, object], case: Case) -> dict[str, object]:
    # Omit the fields that have the same value in every row, because all rows are feasible, stored cases.
    kept = {name: value for name, value in fields.items() if name not in ("feasible", "reason", "tools")}
    return kept | {"prompt": prompt_hash(case.messages)}


def write_rows(rows: Iterable[dict[str, object]], schema: Any, sink: IO[bytes]) -> int:  # noqa: ANN401 - pyarrow has no types
    """Write rows in row groups and return the number of rows."""
    import pyarrow as arrow  # noqa: PLC0415 - an extra
    from pyarrow import parquet  # noqa: PLC0415 - an extra

    count, rows = 0, iter(rows)
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        while group := [_with_text(msgspec.to_builtins(row)) for row in islice(rows, _GROUP_ROWS)]:
            _need_columns(group, schema)
            writer.write_table(arrow.Table.from_pylist(group, schema=schema))
            count += len(group)
    return count


def _with_text(row: dict[str, Any]) -> dict[str, Any]:
    """Encode the additional fields of tool calls as JSON, because their names and types depend on the provider."""
    for step in row.get("steps") or ():
        for call in [*step.get("calls", ()), *(call for each in step["messages"] for call in each.get("calls", ()))]:
            if isinstance(call.get("extra"), dict):
                call["extra"] = msgspec.json.encode(call["extra"]).decode()
    return row


def _need_columns(rows: list[dict[str, Any]], schema: Any) -> None:  # noqa: ANN401 - pyarrow has no types
    """Raise an error if a row has a field without a column, because pyarrow would drop the field silently."""
    columns = _columns(schema)
    for row in rows:
        if lost := _lost(row, columns):
            raise ValueError(
                f"{row.get('case', row.get('id'))}: the schema has no column for {', '.join(sorted(lost))}"
            )


def _columns(fields: Any) -> dict[str, Any]:  # noqa: ANN401 - pyarrow has no types
    """Return the names of columns, each with the columns of its structs; a column without structs has none."""
    columns = {}
    for field in fields:
        inner = getattr(field.type, "value_type", field.type)  # the type of a list's elements
        columns[field.name] = _columns(inner) if hasattr(inner, "get_field_index") else None
    return columns


def _lost(fields: dict[str, Any], columns: dict[str, Any]) -> set[str]:
    """Return the fields, at any depth, that have no column."""
    lost = fields.keys() - columns.keys()
    for name, value in fields.items():
        if value and (inner := columns.get(name)):
            for each in [value] if isinstance(value, dict) else value:
                lost |= _lost(each, inner)
    return lost


def case_schema() -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return the Parquet schema for cases."""
    import pyarrow as arrow  # noqa: PLC0415 - an extra

    return arrow.schema(_case_fields(arrow))


def trial_schema() -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return the Parquet schema for trials."""
    import pyarrow as arrow  # noqa: PLC0415 - an extra

    text, number, flag = arrow.string(), arrow.float64(), arrow.bool_()
    scores = {"code.label": arrow.list_(arrow.int8()), "partial": number, "aligned": number, "verdict": text}
    scores |= {f"{scorer}.{name}": flag for scorer in ("code", "paper") for name in ("correct", "refused", "flagged")}
    scores |= dict.fromkeys(("paper.equal", "correct", "refused", "flagged", "misled", "unsure"), flag)
    shares = [f"retrieved_{label}" for label in ("supports", "distracts", "contradicts", "unknown")]
    scores |= {"cause": text, "retrieval_told": flag} | dict.fromkeys(
        ("retrieval_recall", "reciprocal_rank", *shares, "cited_supports"), number
    )
    scores |= dict.fromkeys((*CITATION_SCORES, *SEARCH_SCORES, "false_strength", "confidence"), number)
    scores |= {"no_confidence": flag, "confidence_problem": text, "prompt_tokens": number, "tokens_estimated": flag}
    flags = ("never_searched", "searched_too_long", "stopped_early", "fair_refusal", "search_limit")
    scores |= dict.fromkeys((*flags, *SEARCH_ERRORS), flag)
    passages = arrow.list_(arrow.struct([("id", text), ("stance", text), ("part", arrow.int32()), ("text", text)]))
    usage = arrow.map_(text, arrow.int64())
    calls = arrow.list_(arrow.struct([("id", text), ("name", text), ("arguments", text), ("extra", text)]))
    message = {"role": text, "content": text, "calls": calls, "call": text, "is_error": flag}
    step = {"messages": arrow.list_(arrow.struct(list(message.items()))), "reply": text, "usage": usage}
    step |= {"latency_s": number, "cached": flag, "calls": calls, "protocol": text}
    search = {"query": text, "k": arrow.int32(), "found": passages, "problem": text}
    step |= {"searches": arrow.list_(arrow.struct(list(search.items())))}
    fields = {"model": text, "repeat": arrow.int32(), "outcome": text, "error": text, "reply": text, "finish": text}
    fields |= {"reasoning": text, "usage": usage, "latency_s": number}
    fields |= {
        "retrieved": passages,
        "contexts": passages,
        "citations": passages,
        "steps": arrow.list_(arrow.struct(list(step.items()))),
    }
    served = arrow.struct([(name, text) for name in Served.__struct_fields__])
    fields |= {"attempts": arrow.int32(), "max_tokens": arrow.int32(), "served": served}
    fields |= {"scores": arrow.struct(list(scores.items()))}
    return arrow.schema(_case_fields(arrow) + list(fields.items()))


def _case_fields(arrow: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - pyarrow has no types
    text, number, whole = arrow.string(), arrow.float64(), arrow.int32()
    slots = arrow.list_(arrow.list_(text))
    document = {"text": text, "stance": text, "kind": text, "source": whole, "item": text, "part": whole}
    document |= {"states": text}
    types = {"case": text, "data": text, "item": text, "lang": text, "testbed": text, "question": text}
    types |= {"answer": slots, "fake": slots, "expect": text, "documents": arrow.list_(arrow.struct(document.items()))}
    types |= {"slots": arrow.list_(whole), "messages": arrow.list_(arrow.struct([("role", text), ("content", text)]))}
    types |= {"noise": number, "noise_real": number, "k": whole, "true_ratio": number, "arm": text, "rotation": whole}
    types |= {"profile": text, "seed": arrow.int64(), "event": text, "corpus": text, "prompt": text, "relevant": whole}
    types |= {"parts": whole, "dial": text, "twin": text, "rgb_answer": text}
    return list(types.items())
