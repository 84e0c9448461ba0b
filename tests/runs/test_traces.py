"""Traces from production become a run without gold answers, in each of three formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ragbed
from ragbed.reporting.case_view import show_trial
from ragbed.runs.store import open_store
from tests.cli.typed import type_command

_QUESTION, _CONTEXTS, _ANSWER = "How much leave do I have?", ["Staff have 28 days.", "Leave is paid."], "28 days."
_SPAN = {"openinference.span.kind": "CHAIN", "input.value": _QUESTION, "output.value": _ANSWER}
_FLAT = {f"retrieval.documents.{at}.document.content": text for at, text in enumerate(_CONTEXTS)}
_NESTED = {"retrieval": {"documents": [{"document": {"content": text}} for text in _CONTEXTS]}}
_RETRIEVER = {
    "id": "o",
    "traceId": "t",
    "parentObservationId": "r",
    "type": "RETRIEVER",
    "output": [{"content": text} for text in _CONTEXTS],
}
_ROOT = {"id": "r", "traceId": "t", "type": "SPAN", "input": {"query": _QUESTION}, "output": {"answer": _ANSWER}}


def _spans(documents: dict[str, Any]) -> list[dict[str, Any]]:
    retriever = {"openinference.span.kind": "RETRIEVER", "input.value": "leave", **documents}
    return [
        {"context": {"trace_id": "t"}, "parent_id": "a", "attributes": retriever},
        {"context": {"trace_id": "t"}, "parent_id": None, "attributes": _SPAN},
    ]


@pytest.mark.parametrize(
    ("form", "records"),
    [
        ("columns", [{"question": _QUESTION, "contexts": _CONTEXTS, "answer": _ANSWER}]),
        ("columns", [{"user_input": _QUESTION, "retrieved_contexts": _CONTEXTS, "response": _ANSWER}]),
        ("openinference", _spans(_FLAT)),
        ("openinference", _spans(_NESTED)),
        ("langfuse", [{"id": "t", "input": _QUESTION, "output": _ANSWER, "observations": [_RETRIEVER]}]),
        ("langfuse", [{"trace": {"id": "t", "input": _QUESTION, "output": _ANSWER}, "observations": [_RETRIEVER]}]),
        ("langfuse", [_RETRIEVER, _ROOT]),
    ],
)
def test_each_format_is_detected_and_can_be_named(form: str, records: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "list.json").write_text(json.dumps(records))
    for name, from_ in (("lines.jsonl", "traces"), ("list.json", form)):
        ragbed.import_results(tmp_path / name, from_, tmp_path / f"run-{from_}")
        (trial,) = ragbed.open_run(tmp_path / f"run-{from_}").trials()
        assert (trial["question"], trial["reply"], trial["answer"]) == (_QUESTION, _ANSWER, ())
        assert [(one["text"], one["stance"]) for one in trial["documents"]] == [(text, None) for text in _CONTEXTS]
        assert trial["scores"]["correct"] is None
        assert "paper.correct" not in trial["scores"]


def test_sentences_whose_words_are_in_no_document_are_marked(tmp_path: Path) -> None:
    answer = "Staff have 28 days. Parking costs nothing on weekends."
    path = tmp_path / "traces.jsonl"
    path.write_text(json.dumps({"question": _QUESTION, "contexts": _CONTEXTS, "answer": answer}))
    ragbed.import_results(path, "traces", tmp_path / "run")
    with open_store(tmp_path / "run", create=False) as store:
        ((_, stored, _),) = store.results_after(0, 1)
    marked = [answer[one.start : one.end] for one in show_trial(stored).spans if one.kind == "unsupported"]
    assert marked == ["Parking costs nothing on weekends."]


def test_a_run_without_gold_is_judged_and_reported(tmp_path: Path) -> None:
    rows = [
        {"id": number, "question": f"Q{number}?", "contexts": _CONTEXTS, "answer": "28 days."} for number in range(3)
    ]
    path = tmp_path / "traces.jsonl"
    path.write_text("\n".join(map(json.dumps, [*rows, {"id": 3, "question": "Q3?"}, {"id": 4, "answer": "?"}])))
    done = type_command("import", str(path), "--from", "traces", "-o", str(tmp_path / "live"))
    assert done.code == 3
    assert "trace 4 has no question" in done.err
    run = ragbed.open_run(tmp_path / "live")
    assert run.outcomes == {"ok": 3, "error": 1}
    judged = ragbed.judge(run, {"j": lambda prompt: "VERDICT: yes"}, criteria="supported,sufficient,refusal,correct")
    rates = {row["criterion"]: row["rate"] for row in judged.records()}
    assert rates == {"supported": 1.0, "sufficient": 1.0, "refusal": 0.75}  # the failed trace counts
    assert all(row["low"] < row["rate"] <= row["high"] for row in judged.records())
    assert type_command("report", str(tmp_path / "live")).code == 0
    diagnosed = type_command("diagnose", str(tmp_path / "live"))
    assert "has no trials with documents and gold answers, so there is nothing to diagnose" in diagnosed.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing", "is neither JSON nor JSON Lines"),
        ("[]", "contains no JSON objects; expected one per trace or span"),
        ('{"a": 1}', "contains no questions (fields of the first record: a). Expected OpenInference spans"),
        ('{"id": 1, "question": "a?"}\n{"id": 1, "question": "b?"}', "two traces have the ID '1'"),
    ],
)
def test_files_without_traces_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(text)
    done = type_command("import", str(tmp_path / "x.jsonl"), "--from", "traces", "-o", str(tmp_path / "run"))
    assert done.code in (1, 2)
    assert message in done.err
