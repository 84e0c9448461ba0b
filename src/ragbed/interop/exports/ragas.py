"""RAGAS: JSON Lines of single-turn samples, as `EvaluationDataset.from_jsonl` reads them."""

from __future__ import annotations

from typing import IO

import msgspec

from ragbed.interop.exports.contexts import Context, Contexts, given_contexts
from ragbed.interop.exports.frozen import Layout
from ragbed.interop.exports.records_base import ExportedRun, Written, reference_of
from ragbed.schema import Case


def write_cases(layout: Layout, sink: IO[bytes]) -> Written:
    """Samples without a response, for a system that is yet to answer."""
    written = Written("cases")
    for case in layout.cases():
        if case.feasible:
            sink.write(msgspec.json.encode(_sample(case, given_contexts(case))) + b"\n")
            written.count += 1
        else:
            written.infeasible[case.reason or ""] += 1
    return written


def write_trials(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Samples with what one model said; a trial without a reply is no sample."""
    run.need_one_model("RAGAS input")
    written, contexts = Written("trials", leaves_out=True), Contexts()
    for result in run.results(written):
        sample = _sample(result.case, contexts.of(result.case, result.completion))
        sink.write(msgspec.json.encode(sample | {"response": result.completion.reply}) + b"\n")
    written.notes += contexts.notes()
    return written


def _sample(case: Case, contexts: list[Context]) -> dict[str, object]:
    supporting = [document.text for document in case.documents if document.stance == "supports"]
    return {
        "case": case.case,  # RAGAS passes it over; it leads back to the case
        "user_input": case.question,
        "retrieved_contexts": [context.text for context in contexts],
        # Of a corpus, a run knows the passages that were found and not those that should have been.
        "reference_contexts": supporting if case.corpus is None else None,
        "reference": reference_of(case),
    }
