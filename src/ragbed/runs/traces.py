"""Read traces of a RAG system in production: questions, contexts and answers without gold answers.

A file is JSON Lines or a JSON list. Each row has a question, the contexts and the answer, in columns that are named as
in `_COLUMNS`, e.g. as RAGAS names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragbed.errors import MALFORMED_JSON, DataError, UsageError
from ragbed.io.locations import read_regular
from ragbed.runs.importing import Answer, AnswerSource, Unmatched
from ragbed.schema import Case, Completion, Document, Message, Retrieved
from ragbed.testbeds.names import name_case
from ragbed.text import guess_lang, storable

TESTBED = "traces"
_COLUMNS = {
    "question": ("question", "user_input", "query", "input"),
    "contexts": ("contexts", "retrieved_contexts", "documents", "context"),
    "answer": ("answer", "response", "output"),
}


class TraceRecord(NamedTuple):
    """One request to the system; `answer` is None if it failed."""

    id: str
    question: str
    contexts: tuple[str, ...]
    answer: str | None


def read_traces(path: Path) -> list[TraceRecord]:
    """Return the traces in a JSON or JSON Lines file.

    Raises:
        DataError: The file does not have this form, or contains no question.
    """
    text = read_regular(path).strip()
    try:
        if text.startswith(b"["):
            rows = msgspec.json.decode(text, type=list[dict[str, Any]])
        else:
            rows = msgspec.json.Decoder(dict[str, Any]).decode_lines(text)
    except MALFORMED_JSON as error:
        raise DataError(path, f"is neither JSON Lines nor a JSON list of objects: {error}") from None
    traces = [_read_row(number, row) for number, row in enumerate(rows, 1)]
    if not any(trace.question for trace in traces):
        found = ", ".join(list(rows[0])[:8]) if rows else "none"
        raise DataError(
            path,
            f"contains no questions (fields: {found}). Expected rows with the columns question, contexts and answer",
        )
    return traces


def _read_row(number: int, row: dict[str, Any]) -> TraceRecord:
    question, contexts, answer = (
        next((row[name] for name in names if row.get(name) is not None), None) for names in _COLUMNS.values()
    )
    texts = contexts if isinstance(contexts, list) else [contexts]
    listed = tuple(_to_text(text) for text in texts if _to_text(text))
    return TraceRecord(str(row.get("id", number)), _to_text(question), listed, _to_text(answer) or None)


def _to_text(value: object) -> str:
    """Return a text, also from an object with a text or content, such as a document."""
    if isinstance(value, dict):
        value = next((value[name] for name in ("text", "content", "page_content") if name in value), None)
    return "" if value is None else str(value).strip()


class TraceFiles(AnswerSource):
    """Files of traces, in which every entry is its own case."""

    def __init__(self, paths: Sequence[Path], model: str) -> None:
        self._traces = [(path, trace) for path in paths for trace in read_traces(path)]
        super().__init__(
            paths, model, "imported", lambda: (_to_case(trace) for _, trace in self._traces if trace.question)
        )

    def entries(self, path: Path) -> Iterator[tuple[str, bytes]]:
        """Yield the traces of a file, by their index."""
        for number, (of, _) in enumerate(self._traces):
            if of == path:
                yield str(number + 1), str(number).encode()

    def match(self, entry: bytes) -> Answer:
        """Return the answer of a trace."""
        _, trace = self._traces[int(entry)]
        if not trace.question:
            raise Unmatched(f"trace {trace.id} has no question")
        if trace.answer is None:
            return Answer(_to_case(trace), Completion(outcome="error", error="missing-result: the trace has no answer"))
        contexts = tuple(Retrieved(id=text[:80], text=text) for text in trace.contexts)
        completion = Completion(outcome="ok", reply=storable(trace.answer), finish="stop", contexts=contexts)
        return Answer(_to_case(trace), completion)


def open_traces(paths: Sequence[Path], model: str) -> TraceFiles:
    """Return the traces in files.

    Raises:
        UsageError: Two traces have the same ID.
    """
    source = TraceFiles(paths, model)
    names = [case.case for case in source.generate()]
    if len(names) != len(set(names)):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"two traces have the ID {twice.split('/')[1]!r}. Import their files into separate runs.")
    return source


def _to_case(trace: TraceRecord) -> Case:
    lang = guess_lang(trace.question)
    documents = tuple(
        Document(text=storable(text), stance="distracts", kind="unlabelled", source=number)
        for number, text in enumerate(trace.contexts)
    )
    return Case(
        case=name_case(TESTBED, trace.id, TESTBED, "profile=robust,seed=0"),
        data=TESTBED,
        item=trace.id,
        lang=lang,
        testbed=TESTBED,
        question=storable(trace.question),
        noise=None,
        noise_real=None,
        k=0,  # so that traces with different numbers of contexts share a row in tables
        true_ratio=0.0,
        arm="related",
        profile="robust",
        seed=0,
        feasible=True,
        documents=documents,
        slots=(),
        messages=(Message(role="user", content=storable(trace.question)),),
        answer=(),
        fake=None,
        expect="answer",
    )
