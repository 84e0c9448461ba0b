"""Export input files for RAGAS and RAGChecker.

RAGAS files are JSON Lines of single-turn samples, for `EvaluationDataset.from_jsonl`. RAGChecker files are one JSON
object with all results, for `RAGResults.from_json`; the query ID is the case's name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, NamedTuple

import msgspec

from ragbed.interop.exports.frozen import Layout
from ragbed.interop.exports.records_base import ExportedRun, Written, reference_of
from ragbed.schema import Case, Completion
from ragbed.scoring.search import found_passages


def write_ragas_cases(layout: Layout, sink: IO[bytes]) -> Written:
    """Write RAGAS samples without responses, for a system that has not answered the questions yet."""
    written = Written("cases")
    for case in written.feasible_cases(layout):
        sink.write(msgspec.json.encode(_ragas_sample(case, _given_contexts(case))) + b"\n")
    return written


def write_ragas_trials(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Write RAGAS samples with one model's responses; trials without a response are left out."""
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
        # If a system searched a corpus, the run stores only the retrieved passages, not the reference passages.
        "reference_contexts": supporting if case.corpus is None else None,
        "reference": reference_of(case),
    }


def write_ragchecker_cases(layout: Layout, sink: IO[bytes]) -> Written:
    """Write RAGChecker results with null responses, for a system that has not answered the questions yet."""
    written = Written("cases")
    cases = written.feasible_cases(layout)
    _write_ragchecker((_ragchecker_result(case, None, _given_contexts(case)) for case in cases), sink)
    return written


def write_ragchecker_trials(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Write RAGChecker results with one model's responses; trials without a response are left out."""
    run.need_one_model("RAGChecker input")
    written, contexts = Written("trials", leaves_out=True), _Contexts()
    results = (
        _ragchecker_result(result.case, result.completion.reply, contexts.of(result.case, result.completion))
        for result in run.results(written)
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
    """Write one result at a time, to keep memory use bounded."""
    before = b'{"results": ['
    for result in results:
        sink.write(before + b"\n" + msgspec.json.encode(result))
        before = b","
    sink.write(b"\n]}\n" if before == b"," else before + b"]}\n")


class _Context(NamedTuple):
    id: str
    text: str


def _given_contexts(case: Case) -> list[_Context]:
    return [_Context(f"{document.item or case.item}/{document.source}", document.text) for document in case.documents]


@dataclass
class _Contexts:
    """Collects the contexts of trials, and counts passages not in the corpus and trials without reported contexts.

    Attributes:
        unreported: Trials whose system does not report the retrieved passages.
        foreign: Passages that are not in the corpus; the run stores only the beginning of these.
    """

    unreported: int = 0
    foreign: int = 0

    def of(self, case: Case, completion: Completion) -> list[_Context]:
        if case.corpus is None:
            return _given_contexts(case)
        if case.testbed == "search":
            return list(
                {passage.id: _Context(passage.id, passage.text) for passage in found_passages(completion)}.values()
            )
        self.unreported += completion.retrieved is None
        retrieved = completion.retrieved or ()
        known = [_Context(passage.id, passage.text) for passage in retrieved if passage.stance is not None]
        self.foreign += len(retrieved) - len(known)
        return known

    def notes(self) -> list[str]:
        unreported = (
            f"Trials whose system does not report the retrieved passages: {self.unreported:,}. They have no contexts."
        )
        foreign = f"Retrieved passages that are not in the corpus: {self.foreign:,}. They were omitted."
        return [note for note, count in ((unreported, self.unreported), (foreign, self.foreign)) if count]
