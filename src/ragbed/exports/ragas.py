"""RAGAS: JSON Lines of single-turn samples, as `EvaluationDataset.from_jsonl` reads them."""

from __future__ import annotations

from typing import IO

import msgspec

from ragbed.exports.frozen import Layout
from ragbed.exports.written import Run, Written, reference_of
from ragbed.schema import Case


def write_cases(layout: Layout, sink: IO[bytes]) -> Written:
    """Samples without a response, for a system that is yet to answer."""
    written = Written("cases")
    for case in layout.cases():
        if case.feasible:
            sink.write(msgspec.json.encode(_sample(case)) + b"\n")
            written.count += 1
        else:
            written.infeasible[case.reason or ""] += 1
    return written


def write_trials(run: Run, sink: IO[bytes]) -> Written:
    """Samples with what one model said; a trial without a reply is no sample."""
    run.need_one_model("RAGAS input")
    written = Written("trials", leaves_out=True)
    for result in run.results(written):
        sink.write(msgspec.json.encode(_sample(result.case) | {"response": result.completion.reply}) + b"\n")
    return written


def _sample(case: Case) -> dict[str, object]:
    return {
        "case": case.case,  # RAGAS passes it over; it leads back to the case
        "user_input": case.question,
        "retrieved_contexts": [document.text for document in case.documents],
        "reference_contexts": [document.text for document in case.documents if document.stance == "supports"],
        "reference": reference_of(case),
    }
