"""What there is to decide about an item, and what cannot be said of it."""

from __future__ import annotations

import pytest

from ragbed.errors import UsageError
from ragbed.ui.review.log import PointDecision
from ragbed.ui.review.points import check_decisions, points_of
from tests.items import base_item
from tests.ui.review.data import world


def test_a_base_item_is_decided_by_question_answer_and_stances() -> None:
    names = [point.name for point in points_of(base_item(supports=1, distracts=2))]
    assert names == [
        "question",
        "searchable",
        "known",
        "answer[0]",
        *(f"passages[{index}].stance" for index in range(3)),
    ]


def test_every_edited_span_of_a_counterfactual_item_is_decided_separately() -> None:
    (item,) = world("fact", 1)
    edits = {index: len(one.edits) for index, one in enumerate(item.passages) if one.edit_of is not None}
    assert edits
    names = [point.name for point in points_of(item)]
    assert "fake[0]" in names
    for index, count in edits.items():
        assert f"passages[{index}].text" in names
        assert f"passages[{index}].stance" not in names
        assert sum(name.startswith(f"passages[{index}].edits[") for name in names) == count > 0


def test_every_part_of_an_integration_item_is_decided_separately() -> None:
    (item,) = world("int", 1)
    names = [point.name for point in points_of(item)]
    assert [name for name in names if name.startswith("answer")] == [f"answer[{i}]" for i in range(len(item.answer))]


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (PointDecision(point="passages[99].stance", verdict="accept"), "no review point"),
        (PointDecision(point="../question", verdict="accept"), "no review point"),
        (PointDecision(point="question", verdict="reject"), "a rejection requires a reason"),
        (PointDecision(point="question", verdict="reject", reason="  "), "a rejection requires a reason"),
        (PointDecision(point="question", verdict="reject", reason="x" * 501), "at most 500"),
        (PointDecision(point="question", verdict="fix"), "allowed only for a fix"),
        (PointDecision(point="question", verdict="accept", fix="x"), "allowed only for a fix"),
        (PointDecision(point="question", verdict="fix", fix="  "), "empty"),
        (PointDecision(point="question", verdict="fix", fix="x" * 20_001), "longer than"),
        (PointDecision(point="question", verdict="fix", fix=("a", "b")), "list of aliases"),
        (PointDecision(point="answer[0]", verdict="fix", fix="a"), "list of aliases"),
        (PointDecision(point="answer[0]", verdict="fix", fix=()), "empty"),
        (PointDecision(point="answer[0]", verdict="fix", fix=("a", " ")), "empty"),
        (
            PointDecision(point="searchable", verdict="fix", fix="yes"),
            "this point cannot be fixed; accept or reject it",
        ),
        (PointDecision(point="passages[0].stance", verdict="fix", fix="agrees"), "is not a relevance label"),
        (PointDecision(point="passages[0].stance", verdict="fix", fix="contradicts"), "false answer"),
        (
            PointDecision(point="passages[0].stance", verdict="fix", fix="supports", part=0),
            "only a supporting passage can have a part",
        ),
        (PointDecision(point="question", verdict="fix", fix="Who?", part=0), "only a relevance label can have a part"),
    ],
)
def test_an_invalid_decision_is_refused_with_the_reason(said: PointDecision, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        check_decisions(base_item(supports=1, distracts=1), [said])


def test_a_passage_supports_one_part_of_an_integration_item() -> None:
    (item,) = world("int", 1)
    place = next(index for index, one in enumerate(item.passages) if one.stance == "distracts")
    point = f"passages[{place}].stance"
    check_decisions(item, [PointDecision(point=point, verdict="fix", fix="supports", part=1)])
    for part, problem in (
        (None, "specify which part of the answer"),
        (len(item.answer), "does not exist; parts are numbered"),
    ):
        with pytest.raises(UsageError, match=problem):
            check_decisions(item, [PointDecision(point=point, verdict="fix", fix="supports", part=part)])
