"""Errors in episodes of the testbed `search`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import ragbed
from ragbed.analysis.diagnosis.classify import diagnose_trial
from ragbed.analysis.diagnosis.records import Diagnosis
from ragbed.analysis.diagnosis.reruns import interventions
from ragbed.runs.store import StoredResult
from ragbed.schema import Case, Completion, Retrieved, Search, Step
from tests.analysis.diagnosis.printed import make_case

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
    return diagnose_trial(StoredResult(case or _case(), "m", 0, done), None)


def _types(reply: str | None, *found: tuple[Retrieved, ...], case: Case | None = None) -> set[str]:
    diagnosis = _diagnose(reply, *found, case=case)
    return set() if diagnosis is None else set(diagnosis.types)


def test_a_right_episode_has_no_diagnosis() -> None:
    assert _diagnose("Ada Merton won it.", (_TRUE, _OTHER)) is None


def test_searches_without_support_are_poor_queries_and_the_queries_are_the_evidence() -> None:
    diagnosis = _diagnose("Cy Dray won it.", (_OTHER,), (_OTHER,))
    assert diagnosis is not None
    assert {"E14", "E16"} <= set(diagnosis.types)
    assert "E15" not in diagnosis.types
    (evidence,) = (piece for piece in diagnosis.evidence if piece.type == "E14")
    assert evidence.cue == "query 0; query 1"


def test_support_that_is_not_used_is_found_but_ignored() -> None:
    diagnosis = _diagnose(
        "I can not answer the question because of the insufficient information in documents.", (_TRUE,)
    )
    assert diagnosis is not None
    assert "E15" in diagnosis.types
    assert not {"E14", "E16"} & set(diagnosis.types)
    (evidence,) = (piece for piece in diagnosis.evidence if piece.type == "E15")
    assert evidence.sentence == _TRUE.text


def test_an_episode_that_ends_at_a_limit_names_the_limit() -> None:
    diagnosis = _diagnose(None, (_OTHER,))
    assert diagnosis is not None
    (evidence,) = (piece for piece in diagnosis.evidence if piece.type == "E13")
    assert "the search episode ended at a limit" in evidence.what
    assert evidence.cue == "turn-limit"


def test_an_answer_without_a_search_has_stopped_early() -> None:
    diagnosis = _diagnose("Cy Dray won it.")
    assert diagnosis is not None
    assert "E16" in diagnosis.types
    assert diagnosis.source == "none"
    assert any("without searching" in piece.what for piece in diagnosis.evidence)


def test_the_answer_of_a_false_passage_is_trusted_and_is_the_source() -> None:
    case = _case(expect="correct", fake=(("Cy Dray",),), correct=0.5)
    diagnosis = _diagnose("Cy Dray won it.", (_FALSE, _TRUE), case=case)
    assert diagnosis is not None
    assert "E17" in diagnosis.types
    assert (diagnosis.source, diagnosis.document) == ("contradicts", None)
    assert all(piece.document is None for piece in diagnosis.evidence)
    assert "E17" not in _types("Cy Dray won it.", (_TRUE,), case=case)


def test_an_episode_at_a_limit_is_a_failure_and_is_not_called_again() -> None:
    diagnosis = _diagnose(None, (_OTHER,))
    assert diagnosis is not None
    assert {"E13", "E14"} <= set(diagnosis.types)
    assert "E16" not in diagnosis.types
    assert list(interventions([diagnosis], {diagnosis.case: _case()})) == []


def test_other_testbeds_have_no_errors_of_episodes() -> None:
    case = make_case("Who won the 2023 cup?", (("Ada Merton",),), (("distracts", _OTHER.text),))
    done = Completion(outcome="ok", reply="Cy Dray won it.")
    diagnosis = diagnose_trial(StoredResult(case, "m", 0, done), None)
    assert diagnosis is not None
    assert not {"E14", "E15", "E16", "E17"} & set(diagnosis.types)


@pytest.mark.parametrize(("agent", "kind"), [("search-malformed", "E13"), ("search-gullible", "E17")])
def test_scripted_agents_have_their_error_in_every_wrong_episode(agent: str, kind: str, tmp_path: Path) -> None:
    run = ragbed.run(
        f"scripted/{agent}", "ragbed-mini-en_fact", out=tmp_path, testbeds="search", search="false=0.5", limit=4,
        no_cache=True, progress=False,
    )  # fmt: skip
    result = ragbed.diagnose(run)
    assert result.diagnoses
    assert all(kind in diagnosis.types for diagnosis in result.diagnoses if diagnosis.wrong)
