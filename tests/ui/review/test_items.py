"""What is reviewed, in which order, what rules have against it, and what cannot be said of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ragbed.errors import UsageError
from ragbed.schema import Item
from ragbed.ui.review.items import ReviewItem, check_decisions, find_datasets, flag_item, points_of, read_items
from ragbed.ui.review.log import PointDecision
from tests.items import base_item
from tests.ui.review.data import planted, world, write_data


def items_in(folder: Path) -> list[ReviewItem]:
    return list(read_items(find_datasets(folder)[0], lambda *_: None).values())


def rules(item: Item) -> set[str]:
    return {flag.rule for flag in flag_item(item)}


def test_a_base_item_is_decided_by_question_answer_and_stances() -> None:
    names = [point.name for point in points_of(base_item(supports=1, distracts=2))]
    assert names == ["question", "answer[0]", *(f"passages[{index}].stance" for index in range(3))]


def test_edited_passages_and_every_part_of_an_answer_are_decided_separately() -> None:
    (item,) = world("fact", 1)
    names = [point.name for point in points_of(item)]
    assert "fake[0]" in names
    for index, passage in enumerate(item.passages):
        is_edit = passage.edit_of is not None
        assert (f"passages[{index}].text" in names, f"passages[{index}].stance" in names) == (is_edit, not is_edit)
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
        (PointDecision(point="question", verdict="fix"), "and only for a fix"),
        (PointDecision(point="question", verdict="accept", fix="x"), "and only for a fix"),
        (PointDecision(point="question", verdict="fix", fix="  "), "empty"),
        (PointDecision(point="question", verdict="fix", fix=("a", "b")), "list of aliases"),
        (PointDecision(point="answer[0]", verdict="fix", fix="a"), "list of aliases"),
        (PointDecision(point="answer[0]", verdict="fix", fix=()), "empty"),
        (PointDecision(point="answer[0]", verdict="fix", fix=("a", " ")), "empty"),
        (PointDecision(point="passages[0].stance", verdict="fix", fix="agrees"), "is none of supports"),
        (PointDecision(point="passages[0].stance", verdict="fix", fix="contradicts"), "false answer"),
        (
            PointDecision(point="passages[0].stance", verdict="fix", fix="supports", part=0),
            "a supporting passage of an integration item, and nothing else, has a part",
        ),
        (PointDecision(point="question", verdict="fix", fix="Who?", part=0), "has a part"),
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
    for part, problem in ((None, "has a part"), (len(item.answer), "does not exist")):
        with pytest.raises(UsageError, match=problem):
            check_decisions(item, [PointDecision(point=point, verdict="fix", fix="supports", part=part)])


def test_a_passage_that_is_not_what_it_is_labelled_is_flagged_with_its_place() -> None:
    item = world("base", 1)[0]
    assert rules(item) == set()
    (flag,) = flag_item(planted(item))
    place = next(index for index, one in enumerate(item.passages) if one.stance == "distracts")
    assert (flag.rule, flag.where) == ("label", f"passages[{place}]")
    assert "positive, not distracts" in flag.message


def test_a_false_answer_that_is_true_and_an_edit_that_leaves_the_truth_are_flagged() -> None:
    item = world("fact", 1)[0]
    assert rules(item) == set()
    assert rules(replace(item, fake=item.answer)) >= {"false-answer", "edit"}
    passages = tuple(
        one if one.edit_of is None else replace(one, text=item.passages[one.edit_of].text) for one in item.passages
    )
    assert rules(replace(item, passages=passages)) == {"edit"}


def test_lint_findings_that_a_person_can_judge_are_flags(tmp_path: Path) -> None:
    first, second = world("base", 2)
    one, other = items_in(write_data(tmp_path, a=[planted(first), second]))
    assert {flag.rule for flag in one.flags} >= {"gold-in-negative"}
    assert other.flags == ()


def test_flagged_items_come_first_and_the_others_in_turn_from_each_dataset(tmp_path: Path) -> None:
    first, *rest = world("base", 5)
    found = items_in(write_data(tmp_path, a=rest, b=[planted(first), *world("fact", 2)]))
    assert [one.data for one in found] == ["b", "a", "b", "a", "b", "a", "a"]
    assert [bool(one.flags) for one in found] == [True, *[False] * 6]


def test_the_order_is_drawn_and_stays_when_items_are_added(tmp_path: Path) -> None:
    items = world("base", 12)
    order = [one.key for one in items_in(write_data(tmp_path / "x", a=items))]
    assert order != sorted(order)
    fewer = [one.key for one in items_in(write_data(tmp_path / "y", a=items[:6]))]
    assert [key for key in order if key in fewer] == fewer


def test_a_file_is_reviewed_beside_itself(tmp_path: Path) -> None:
    write_data(tmp_path, en_base=world("base", 1))
    datasets, folder = find_datasets(tmp_path / "en_base.jsonl")
    assert [dataset.name for dataset in datasets] == ["en_base"]
    assert folder == tmp_path / "en_base.review"
