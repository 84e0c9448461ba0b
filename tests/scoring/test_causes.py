"""The cause of a wrong answer of an own RAG system follows from the verdict and the passages that it returns."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from ragbed.schema import Case, Completion, Expectation, Retrieved
from ragbed.scoring import score
from ragbed.scoring.causes import CAUSES, find_cause
from tests.runs.harness import make_case

_TRUE = Retrieved(id="a", stance="supports", text="It is gold-0.")
_FALSE = Retrieved(id="b", stance="contradicts", text="It is lead.")
_OTHER = Retrieved(id="c", stance="distracts", text="Nobody knows.")


def _case(expect: Expectation = "answer", **changes: Any) -> Case:
    fields = {"testbed": "own-rag", "documents": (), "corpus": "clean", "relevant": 1, "fake": (("lead",),)}
    return structs.replace(make_case(0), expect=expect, **(fields | changes))


def _cause(reply: str, case: Case | None = None, **passages: Any) -> str | None:
    case = _case() if case is None else case
    cause = find_cause(case, Completion(outcome="ok", reply=reply, **passages), score(case, reply))
    assert cause is None or cause in CAUSES
    return cause


@pytest.mark.parametrize(
    ("reply", "passages", "cause"),
    [
        ("It is gold-0.", {}, None),
        ("It is tin.", {"contexts": (_TRUE,)}, "not-used"),
        ("It is tin.", {"contexts": (_OTHER,), "retrieved": (_OTHER, _TRUE)}, "ranked-too-low"),
        ("It is tin.", {"contexts": (_OTHER,), "retrieved": (_OTHER,)}, "not-retrieved"),
        ("It is tin.", {"contexts": (_OTHER,)}, "not-retrieved"),
        ("It is tin.", {"retrieved": (_OTHER,)}, "not-retrieved"),
        ("It is tin.", {"retrieved": (_TRUE,)}, "unknown"),
        ("It is tin.", {}, "unknown"),
        ("I do not know.", {"contexts": (_TRUE,)}, "refused-despite-evidence"),
        ("I do not know.", {"contexts": (_OTHER,)}, "not-retrieved"),
        ("I do not know.", {}, "unknown"),
        ("It is lead.", {"contexts": (_TRUE, _FALSE)}, "contradicted"),
        ("It is lead.", {"contexts": (_TRUE,)}, "not-used"),
    ],
)
def test_the_evidence_is_followed_from_the_corpus_to_the_answer(
    reply: str, passages: dict[str, Any], cause: str | None
) -> None:
    assert _cause(reply, **passages) == cause


def test_the_condition_decides_what_is_wrong() -> None:
    withheld = _case("refuse", relevant=0)
    assert _cause("I do not know.", withheld) is None
    assert _cause("It is gold-0.", withheld, contexts=(_OTHER,)) == "answered-without-evidence"
    assert _cause("It is tin.", _case(relevant=0), contexts=(_OTHER,)) == "not-in-corpus"
    assert _cause("It is lead.", _case("correct")) == "contradicted"  # nothing else states this answer
    assert find_cause(_case(), Completion(outcome="truncated", reply="It is"), {"correct": False}) is None


def test_a_response_that_contains_the_answer_anyway_is_a_doubtful_score() -> None:
    values = {"correct": False, "refused": False, "misled": False}
    completion = Completion(outcome="ok", reply="Somebody claims gold-0.", contexts=(_TRUE,))
    assert find_cause(_case(), completion, values) == "scoring"
    unsure = {**values, "unsure": True}
    assert find_cause(_case(), Completion(outcome="ok", reply="Hm."), unsure) == "scoring"
