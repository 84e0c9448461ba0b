"""Errors of models and systems that search themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import structs

import ragbed
from ragbed.analysis.diagnosis.records import Diagnosis
from ragbed.runs.store import StoredResult
from ragbed.schema import Case, Completion, Retrieved, Search, Step
from tests.analysis.diagnosis.printed import diagnose_stored, make_case

_TRUE = Retrieved(id="t", stance="supports", text="The cup went to Ada Merton in 2023.")
_OTHER = Retrieved(id="o", stance="distracts", text="The weather in Tarnwick was fine.")
_FALSE = Retrieved(id="f", stance="contradicts", text="The cup went to Cy Dray in 2023.")


def _case(**changes: Any) -> Case:
    case = make_case("Who won the 2023 cup?", (("Ada Merton",),), (), testbed="search")
    return structs.replace(case, arm="complete", **changes)


def _diagnose(reply: str | None, *found: tuple[Retrieved, ...], case: Case | None = None) -> Diagnosis | None:
    searches = tuple(Search(query=f"query {number}", k=5, found=passages) for number, passages in enumerate(found))
    step = Step(messages=(), reply=reply, searches=searches, protocol="text")
    done = Completion(outcome="ok", reply=reply, finish="stop", steps=(step,))
    if reply is None:
        done = structs.replace(done, outcome="truncated", finish="turn-limit")
    return diagnose_stored(StoredResult(case or _case(), "m", 0, done))


def _types(reply: str | None, *found: tuple[Retrieved, ...], case: Case | None = None) -> set[str]:
    diagnosis = _diagnose(reply, *found, case=case)
    return set() if diagnosis is None else set(diagnosis.types)


def test_a_right_episode_has_no_diagnosis() -> None:
    assert _diagnose("Ada Merton won it.", (_TRUE, _OTHER)) is None


def test_the_queries_of_searches_without_support_are_the_evidence() -> None:
    diagnosis = _diagnose("Cy Dray won it.", (_OTHER,), (_OTHER,))
    assert diagnosis is not None
    (evidence,) = (piece for piece in diagnosis.evidence if piece.type == "E12")
    assert evidence.cue == "query 0; query 1"
    assert "E12" not in _types("Cy Dray won it.", (_OTHER,), (_TRUE,))


def test_a_refusal_despite_retrieved_support_is_a_false_refusal() -> None:
    refusal = "I can not answer the question because of the insufficient information in documents."
    assert _types(refusal, (_TRUE,)) == {"E9"}


def test_an_episode_that_ends_at_a_limit_names_the_limit() -> None:
    diagnosis = _diagnose(None, (_OTHER,))
    assert diagnosis is not None
    assert diagnosis.types == ("E11", "E12")
    assert diagnosis.evidence[0].cue == "turn-limit"


def test_an_answer_without_a_search_has_no_evidence() -> None:
    diagnosis = _diagnose("Cy Dray won it.")
    assert diagnosis is not None
    assert (diagnosis.types, diagnosis.source) == (("E12",), "none")


def test_the_answer_of_a_false_passage_names_it_as_the_source() -> None:
    case = _case(expect="correct", fake=(("Cy Dray",),), true_ratio=0.5)
    diagnosis = _diagnose("Cy Dray won it.", (_FALSE, _TRUE), case=case)
    assert diagnosis is not None
    assert (diagnosis.source, diagnosis.document) == ("contradicts", None)
    assert all(piece.document is None for piece in diagnosis.evidence)


def test_given_documents_have_no_errors_of_retrieval() -> None:
    case = make_case("Who won the 2023 cup?", (("Ada Merton",),), (("distracts", _OTHER.text),))
    done = Completion(outcome="ok", reply="Cy Dray won it.", retrieved=(_OTHER,))
    diagnosis = diagnose_stored(StoredResult(case, "m", 0, done))
    assert diagnosis is not None
    assert "E12" not in diagnosis.types


def test_an_agent_with_malformed_calls_fails_in_every_wrong_episode(tmp_path: Path) -> None:
    run = ragbed.run(
        "scripted/search-malformed", "ragbed-mini-en_fact", out=tmp_path, testbeds="search", search="false=0.5",
        limit=4, cache="off", progress=False,
    )  # fmt: skip
    result = ragbed.diagnose(run, show="E11")
    assert 0 < len(result["errors"]) == result["trials"].asked - result["trials"].right


def test_trials_of_own_systems_are_diagnosed(tmp_path: Path) -> None:
    """They were skipped and counted as closed-book trials: "only trials without documents"."""
    system = ragbed.system(lambda _: {"answer": "It was Bo Karlin.", "contexts": ["Not in the corpus."]}, name="mine")
    run = ragbed.run(system, "ragbed-mini-en_base", testbeds="own-rag", limit=3, out=tmp_path, progress=False)
    result = ragbed.diagnose(run, show="not-retrieved")
    assert (result["trials"].asked, result["trials"].skipped, len(result["errors"])) == (3, 0, 3)


def test_a_system_that_does_not_report_its_passages_has_no_error_of_retrieval(tmp_path: Path) -> None:
    system = ragbed.system(lambda _: "It was Bo Karlin.", name="mine")
    run = ragbed.run(system, "ragbed-mini-en_base", testbeds="own-rag", limit=2, out=tmp_path, progress=False)
    result = ragbed.diagnose(run, show="E12")
    assert (result["trials"].asked, result["trials"].right, result["errors"]) == (2, 0, [])
    assert {row["source"] for row in result["sources"]} <= {"none", "no answer"}
