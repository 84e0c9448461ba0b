"""Read traces of a RAG system in production: questions, contexts and answers without gold answers.

Three formats are read from JSON or JSON Lines: OpenInference spans, Langfuse traces or observations, and rows with
columns such as RAGAS's. The format is detected from the fields of the first record.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragbed.errors import DataError, UsageError
from ragbed.io.locations import read_regular
from ragbed.runs.importing import Answer, AnswerSource, Unmatched
from ragbed.schema import Case, Completion, Document, Message, Retrieved
from ragbed.testbeds.cases import name_case
from ragbed.testbeds.prompts.requests import plain_case
from ragbed.text import guess_lang, storable

TESTBED = "traces"
_QUESTION = ("question", "user_input", "query", "input")
_CONTEXTS = ("contexts", "retrieved_contexts", "documents", "context")
_ANSWER = ("answer", "response", "output")
_TEXT = ("content", "page_content", "text", "document.content", "value", "message", "query", "question", "output")


class TraceRecord(NamedTuple):
    """One request to the system; `answer` is None if it failed."""

    id: str
    question: str
    contexts: tuple[str, ...]
    answer: str | None


def _read_columns(rows: Sequence[Mapping[str, Any]]) -> Iterator[TraceRecord]:
    for number, row in enumerate(rows, 1):
        question, answer = (_first(row, names) for names in (_QUESTION, _ANSWER))
        contexts = _list_texts(_first(row, _CONTEXTS))
        yield TraceRecord(str(row.get("id", number)), _to_text(question), contexts, _to_text(answer) or None)


def _read_openinference(rows: Sequence[Mapping[str, Any]]) -> Iterator[TraceRecord]:
    """Yield one trace per trace ID: the root span's input and output, and the documents of its retrievers."""
    spans = defaultdict(list)
    for row in rows:
        context = row.get("context")
        trace = row.get("trace_id") or (context.get("trace_id") if isinstance(context, Mapping) else "")
        spans[str(trace or row.get("context.trace_id"))].append((row, _flatten(row.get("attributes") or row)))
    for name, found in spans.items():
        root = next(
            (flat for row, flat in found if not (row.get("parent_id") or row.get("parent_span_id"))), found[0][1]
        )
        contexts = [
            str(flat[key])
            for _, flat in found
            for key in sorted(flat, key=_by_number)
            if re.search(r"(retrieval|reranker\.output)\.?_?documents\.\d+\.document\.content$", key)
        ]
        question, answer = _to_text(root.get("input.value")), _to_text(root.get("output.value"))
        yield TraceRecord(name, question, tuple(dict.fromkeys(contexts)), answer or None)


def _read_langfuse(rows: Sequence[Mapping[str, Any]]) -> Iterator[TraceRecord]:
    """Yield one trace per trace with observations, or per trace ID of a list of observations."""
    traces: dict[str, tuple[Mapping[str, Any], list[Mapping[str, Any]]]] = {}
    for row in rows:
        if "observations" in row:
            inner = row["observations"] if isinstance(row["observations"], list) else []
            trace = row.get("trace")
            about = trace if isinstance(trace, Mapping) else row
            traces[str(about.get("id"))] = about, [one for one in inner if isinstance(one, Mapping)]
        else:
            traces.setdefault(str(row.get("traceId") or row.get("trace_id")), ({}, []))[1].append(row)
    for name, (about, observations) in traces.items():
        tops = [one for one in observations if not (one.get("parentObservationId") or one.get("parent_observation_id"))]
        root = about if about.get("input") is not None else (tops or observations or [{}])[0]
        contexts = [
            text
            for one in observations
            if str(one.get("type", "")).upper() == "RETRIEVER" or "retriev" in str(one.get("name", "")).lower()
            for text in _list_texts(_parsed(one.get("output")))
        ]
        answer = _to_text(root.get("output"))
        yield TraceRecord(name, _to_text(root.get("input")), tuple(dict.fromkeys(contexts)), answer or None)


FORMATS: dict[str, Callable[[Sequence[Mapping[str, Any]]], Iterator[TraceRecord]]] = {
    "openinference": _read_openinference,
    "langfuse": _read_langfuse,
    "columns": _read_columns,
}


def _detect(row: Mapping[str, Any]) -> str:
    flat = _flatten(row.get("attributes") if isinstance(row.get("attributes"), Mapping) else row)
    if "openinference.span.kind" in flat or any(key.startswith("retrieval.documents") for key in flat):
        return "openinference"
    if "observations" in row or {"traceId", "trace_id"} & row.keys():
        return "langfuse"
    return "columns"


def read_traces(path: Path, form: str | None = None) -> list[TraceRecord]:
    """Return the traces in a JSON or JSON Lines file.

    Raises:
        DataError: The file contains no JSON objects, or none that has a question.
    """
    text = read_regular(path).decode("utf-8", "replace").strip()
    try:
        read: object = (
            json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines() if line]
        )
    except ValueError:
        try:
            read = [json.loads(text)]
        except ValueError as error:
            raise DataError(path, f"is neither JSON nor JSON Lines: {error}") from None
    rows = [row for row in read if isinstance(row, Mapping)] if isinstance(read, list) else []
    if not rows:
        raise DataError(path, "contains no JSON objects; expected one per trace or span")
    traces = list(FORMATS[form or _detect(rows[0])](rows))
    if not any(trace.question for trace in traces):
        found = ", ".join(list(rows[0])[:8])
        raise DataError(
            path,
            f"contains no questions (fields of the first record: {found}). Expected OpenInference spans, Langfuse "
            "traces, or the columns question, contexts and answer. Name the format with from_=openinference, langfuse "
            "or columns",
        )
    return traces


def open_traces(paths: Sequence[Path], model: str, form: str | None) -> AnswerSource:
    """Open files with traces, in which every entry is its own case.

    Raises:
        UsageError: Two traces have the same ID.
    """
    traces = {path: read_traces(path, form) for path in paths}
    found = [_to_case(trace) for inside in traces.values() for trace in inside if trace.question]
    if twice := [name for name, times in Counter(case.item for case in found).items() if times > 1]:
        raise UsageError(f"two traces have the ID {twice[0]!r}. Import their files into separate runs.")
    cases = {case.case: case for case in found}
    return AnswerSource(paths, model, "imported", cases, _match, lambda path: enumerate(traces[path], 1))


def _match(entry: TraceRecord) -> Answer:
    if not entry.question:
        raise Unmatched(f"trace {entry.id} has no question")
    if entry.answer is None:
        return Answer(_to_case(entry), Completion(outcome="error", error="missing-result: the trace has no answer"))
    contexts = tuple(Retrieved(id=text[:80], text=text) for text in entry.contexts)
    completion = Completion(outcome="ok", reply=storable(entry.answer), finish="stop", contexts=contexts)
    return Answer(_to_case(entry), completion)


def _to_case(trace: TraceRecord) -> Case:
    lang = guess_lang(trace.question)
    documents = tuple(
        Document(text=storable(text), stance=None, kind="related", source=number)
        for number, text in enumerate(trace.contexts)
    )
    return plain_case(
        case=name_case(TESTBED, trace.id, TESTBED, "profile=robust,seed=0"),
        data=TESTBED,
        item=trace.id,
        lang=lang,
        testbed=TESTBED,
        question=storable(trace.question),
        k=0,  # so that traces with different numbers of contexts share a row in tables
        profile="robust",
        documents=documents,
        messages=(Message(role="user", content=storable(trace.question)),),
    )


def _first(row: Mapping[str, Any], names: Iterable[str]) -> Any:  # noqa: ANN401 - any JSON value
    return next((row[name] for name in names if row.get(name) is not None), None)


def _parsed(value: object) -> Any:  # noqa: ANN401 - any JSON value
    """Return a text that contains JSON as its value."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _to_text(value: object) -> str:
    """Return the text in a value: itself, the last of several messages, or a known field of an object."""
    value = _parsed(value)
    if isinstance(value, Mapping):
        for name in ("messages", *_TEXT, *_QUESTION, *_ANSWER):
            if value.get(name) is not None:
                return _to_text(value[name])
        return ""
    if isinstance(value, list):
        return _to_text(value[-1]) if value else ""
    return "" if value is None else str(value).strip()


def _list_texts(value: object) -> tuple[str, ...]:
    """Return the texts of a list of passages, or of an object that contains one."""
    value = _parsed(value)
    if isinstance(value, Mapping):
        inner = next(
            (value[name] for name in (*_CONTEXTS, "nodes", "results") if isinstance(value.get(name), list)), None
        )
        return _list_texts(inner if inner is not None else [value])
    return tuple(text for item in (value if isinstance(value, list) else [value]) if (text := _to_text(item)))


def _flatten(value: object, prefix: str = "") -> dict[str, object]:
    """Return nested attributes by their dotted names, with list indexes, as OpenTelemetry exports them."""
    if isinstance(value, Mapping):
        pairs: Iterable[tuple[str, object]] = ((str(name), inner) for name, inner in value.items())
    elif isinstance(value, list):
        pairs = ((str(number), inner) for number, inner in enumerate(value))
    else:
        return {prefix: value}
    found: dict[str, object] = {}
    for name, inner in pairs:
        found |= _flatten(inner, f"{prefix}.{name}" if prefix else name)
    return found


def _by_number(key: str) -> tuple[object, ...]:
    return tuple(int(part) if part.isdecimal() else -1 for part in key.split("."))
