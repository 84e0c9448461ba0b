"""Write cases, trials and items as Parquet files, one row group at a time, with the same fields as in JSON Lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import IO, Any

import msgspec

from ragbed.data import Dataset
from ragbed.data.parquet import column_type, item_row, item_schema, need_parquet
from ragbed.interop.exports.records_base import ExportedRun, Written
from ragbed.runs.store import StoredResult
from ragbed.runs.trials import trial_fields
from ragbed.schema import Case, Retrieved, Served, Step
from ragbed.scoring.citations import CITATION_SCORES
from ragbed.scoring.search import SEARCH_ERRORS, SEARCH_SCORES
from ragbed.scoring.value import Value
from ragbed.testbeds.prompts import prompt_hash

_CONSTANT = ("feasible", "reason", "tools")  # fields with the same value in all rows: every case is feasible and stored
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
    kept = {name: value for name, value in fields.items() if name not in _CONSTANT}
    return kept | {"prompt": prompt_hash(case.messages)}


def write_rows(rows: Iterable[dict[str, object]], schema: Any, sink: IO[bytes]) -> int:  # noqa: ANN401 - pyarrow has no types
    """Write rows in row groups and return the number of rows."""
    import pyarrow as arrow  # noqa: PLC0415 - an extra
    from pyarrow import parquet  # noqa: PLC0415 - an extra

    count, rows = 0, iter(rows)
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        while group := [_with_text(msgspec.to_builtins(row)) for row in islice(rows, _GROUP_ROWS)]:
            for row in group:
                _check_columns(row, schema)
            writer.write_table(arrow.Table.from_pylist(group, schema=schema))
            count += len(group)
    return count


def _check_columns(row: dict[str, Any], schema: Any) -> None:  # noqa: ANN401 - pyarrow has no types
    """Raise an error if a field or score has no column, because pyarrow would drop it silently."""
    lost = row.keys() - {*schema.names}
    if "scores" in row:
        lost |= row["scores"].keys() - {*schema.field("scores").type.names}
    if lost:
        raise ValueError(f"{row.get('case', row.get('id'))}: the schema has no column for {', '.join(sorted(lost))}")


def _with_text(row: dict[str, Any]) -> dict[str, Any]:
    """Encode the additional fields of tool calls as JSON, because their names and types depend on the provider."""
    for step in row.get("steps") or ():
        for call in [*step.get("calls", ()), *(call for each in step["messages"] for call in each.get("calls", ()))]:
            if isinstance(call.get("extra"), dict):
                call["extra"] = msgspec.json.encode(call["extra"]).decode()
    return row


def case_schema() -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return the Parquet schema for cases."""
    import pyarrow as arrow  # noqa: PLC0415 - an extra

    return arrow.schema(_case_columns(arrow))


def _case_columns(arrow: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - pyarrow has no types
    text = arrow.string()
    columns = {field.name: field.type for field in column_type(Case) if field.name not in _CONSTANT}
    columns |= {"messages": arrow.list_(arrow.struct([("role", text), ("content", text)])), "prompt": text}
    return list(columns.items())


def trial_schema() -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return the Parquet schema for trials."""
    import pyarrow as arrow  # noqa: PLC0415 - an extra

    text, number, whole, flag = arrow.string(), arrow.float64(), arrow.int64(), arrow.bool_()
    scores = {"code.label": arrow.list_(arrow.int8()), "partial": number, "aligned": number, "verdict": text}
    scores |= {f"{scorer}.{name}": flag for scorer in ("code", "paper") for name in ("correct", "refused", "flagged")}
    scores |= dict.fromkeys(("paper.equal", "correct", "refused", "flagged", "misled", "unsure"), flag)
    shares = [f"retrieved_{label}" for label in ("supports", "distracts", "contradicts", "unknown")]
    scores |= {"cause": text, "retrieval_told": flag} | dict.fromkeys(
        ("retrieval_recall", "reciprocal_rank", *shares, "cited_supports"), number
    )
    scores |= dict.fromkeys((*CITATION_SCORES, *SEARCH_SCORES, "false_strength"), number)
    scores |= {"prompt_tokens": number, "tokens_estimated": flag}
    flags = ("never_searched", "searched_too_long", "stopped_early", "fair_refusal", "search_limit")
    scores |= dict.fromkeys((*flags, *SEARCH_ERRORS), flag)
    usage, passages = arrow.map_(text, whole), arrow.list_(column_type(Retrieved))
    step = {field.name: field.type for field in column_type(Step)} | {"usage": usage, "cached": flag}
    fields = {"model": text, "repeat": whole, "outcome": text, "error": text, "reply": text, "finish": text}
    fields |= {"reasoning": text, "usage": usage, "latency_s": number, "retrieved": passages, "citations": passages}
    fields |= {"contexts": passages}
    fields |= {"steps": arrow.list_(arrow.struct(list(step.items()))), "attempts": whole, "max_tokens": whole}
    fields |= {"served": column_type(Served), "scores": arrow.struct(list(scores.items()))}
    return arrow.schema(_case_columns(arrow) + list(fields.items()))
