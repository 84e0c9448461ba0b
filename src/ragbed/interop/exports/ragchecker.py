"""RAGChecker: one JSON object with all results, as `RAGResults.from_json` reads it; a case's name is the query id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

import msgspec

from ragbed.interop.exports.contexts import Context, Contexts, given_contexts
from ragbed.interop.exports.frozen import Layout
from ragbed.interop.exports.records_base import ExportedRun, Written, reference_of
from ragbed.schema import Case


def write_cases(layout: Layout, sink: IO[bytes]) -> Written:
    """Results whose response is null, to be filled in by a system that is yet to answer."""
    written = Written("cases")

    def results() -> Iterable[dict[str, object]]:
        for case in layout.cases():
            if case.feasible:
                written.count += 1
                yield _result(case, None, given_contexts(case))
            else:
                written.infeasible[case.reason or ""] += 1

    _write(results(), sink)
    return written


def write_trials(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Results with what one model said; a trial without a reply is none."""
    run.need_one_model("RAGChecker input")
    written, contexts = Written("trials", leaves_out=True), Contexts()
    results = (
        _result(one.case, one.completion.reply, contexts.of(one.case, one.completion)) for one in run.results(written)
    )
    _write(results, sink)
    written.notes += contexts.notes()
    return written


def _result(case: Case, response: str | None, contexts: list[Context]) -> dict[str, object]:
    return {
        "query_id": case.case,
        "query": case.question,
        "gt_answer": reference_of(case),
        "response": response,
        "retrieved_context": [{"doc_id": context.id, "text": context.text} for context in contexts],
    }


def _write(results: Iterable[dict[str, object]], sink: IO[bytes]) -> None:
    """Piece by piece, so that memory stays bounded."""
    before = b'{"results": ['
    for result in results:
        sink.write(before + b"\n" + msgspec.json.encode(result))
        before = b","
    sink.write(b"\n]}\n" if before == b"," else before + b"]}\n")
