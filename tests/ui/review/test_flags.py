"""What rules have against items, kept so that it is found only once."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from ragbed.schema import Item
from ragbed.ui.review.queue import find_datasets, find_flags, flag_item
from tests.ui.review.data import planted, world, write_data


def rules(item: Item) -> set[str]:
    return {flag.rule for flag in flag_item(item)}


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
    datasets, _ = find_datasets(write_data(tmp_path, a=[planted(first), second]))
    flags = find_flags(datasets, tmp_path, lambda *_: None)
    assert {flag.rule for flag in flags[f"a/{first.id}"]} >= {"gold-in-negative"}
    assert f"a/{second.id}" not in flags


def test_flags_are_found_once_and_again_only_for_other_data(tmp_path: Path) -> None:
    looked_at: list[int] = []
    datasets, _ = find_datasets(write_data(tmp_path, a=world("base", 2)))
    for _ in range(2):
        find_flags(datasets, tmp_path, lambda _, number: looked_at.append(number))
    assert looked_at == [1, 2]
    write_data(tmp_path, a=world("base", 3))
    find_flags(datasets, tmp_path, lambda _, number: looked_at.append(number))
    assert looked_at == [1, 2, 1, 2, 3]
