"""Input files of RAGAS and RAGChecker.

RAGAS: JSON Lines of single-turn samples, as `EvaluationDataset.from_jsonl` reads them. RAGChecker: one JSON object with
all results, as `RAGResults.from_json` reads it; the query id is the name of the case.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, NamedTuple

import msgspec

from ragbed.interop.exports.frozen import Layout
from ragbed.interop.exports.records_base import ExportedRun, Written, reference_of
from ragbed.schema import Case, Completion


def write_ragas_cases(layout: Layout, sink: IO[bytes]) -> Written:
    """Write samples without a response, for a system that has not answered yet."""
    written = Written("cases")
    for case in layout.cases():
        if case.feasible:
            sink.write(msgspec.json.encode(_ragas_sample(case, _given_contexts(case))) + b"\n")
            written.count += 1
        else:
            written.infeasible[case.reason or ""] += 1
    return written


def write_ragas_trials(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Write samples with the responses of one model; trials without a response are left out."""
    run.need_one_model("RAGAS input")
    written, contexts = Written("trials", leaves_out=True), _Contexts()
    for result in run.results(written):
        sample = _ragas_sample(result.case, contexts.of(result.case, result.completion))
        sink.write(msgspec.json.encode(sample | {"response": result.completion.reply}) + b"\n")
    written.notes += contexts.notes()
    return written


def _ragas_sample(case: Case, contexts: list[_Context]) -> dict[str, object]:
    supporting = [document.text for document in case.documents if document.stance == "supports"]
    return {
        "case": case.case,  # RAGAS ignores this field; it links the sample to its case
        "user_input": case.question,
        "retrieved_contexts": [context.text for context in contexts],
        # For a corpus, a run stores the passages that were found, not those that should have been.
        "reference_contexts": supporting if case.corpus is None else None,
        "reference": reference_of(case),
    }


def write_ragchecker_cases(layout: Layout, sink: IO[bytes]) -> Written:
    """Write results whose response is null, for a system that has not answered yet."""
    written = Written("cases")

    def results() -> Iterable[dict[str, object]]:
        for case in layout.cases():
            if case.feasible:
                written.count += 1
                yield _ragchecker_result(case, None, _given_contexts(case))
            else:
                written.infeasible[case.reason or ""] += 1

    _write_ragchecker(results(), sink)
    return written


def write_ragchecker_trials(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Write results with the responses of one model; trials without a response are left out."""
    run.need_one_model("RAGChecker input")
    written, contexts = Written("trials", leaves_out=True), _Contexts()
    results = (
        _ragchecker_result(one.case, one.completion.reply, contexts.of(one.case, one.completion))
        for one in run.results(written)
    )
    _write_ragchecker(results, sink)
    written.notes += contexts.notes()
    return written


def _ragchecker_result(case: Case, response: str | None, contexts: list[_Context]) -> dict[str, object]:
    return {
        "query_id": case.case,
        "query": case.question,
        "gt_answer": reference_of(case),
        "response": response,
        "retrieved_context": [{"doc_id": context.id, "text": context.text} for context in contexts],
    }


def _write_ragchecker(results: Iterable[dict[str, object]], sink: IO[bytes]) -> None:
    """Write result by result, so that memory stays bounded."""
    before = b'{"results": ['
    for result in results:
        sink.write(before + b"\n" + msgspec.json.encode(result))
        before = b","
    sink.write(b"\n]}\n" if before == b"," else before + b"]}\n")


class _Context(NamedTuple):
    """A text and the name that identifies it."""

    id: str
    text: str


def _given_contexts(case: Case) -> list[_Context]:
    """Return the documents of a case."""
    return [_Context(f"{document.item or case.item}/{document.source}", document.text) for document in case.documents]


@dataclass
class _Contexts:
    """The contexts of a run's trials, with counts of what the run does not store."""

    unreported: int = 0
    """Trials whose system does not report the passages it found."""
    foreign: int = 0
    """Passages that are not in the corpus: a run stores only their beginning."""

    def of(self, case: Case, completion: Completion) -> list[_Context]:
        """Return the contexts of one trial, the best first."""
        if case.corpus is None:
            return _given_contexts(case)
        self.unreported += completion.retrieved is None
        found = completion.retrieved or ()
        known = [_Context(one.id, one.text) for one in found if one.stance is not None]
        self.foreign += len(found) - len(known)
        return known

    def notes(self) -> list[str]:
        """Return the notes to print for the user."""
        notes = []
        if self.unreported:
            notes.append(
                f"Trials whose system does not report what it retrieved: {self.unreported:,}. They have no contexts."
            )
        if self.foreign:
            notes.append(f"Retrieved passages that are not in the corpus: {self.foreign:,}. They are left out.")
        return notes
