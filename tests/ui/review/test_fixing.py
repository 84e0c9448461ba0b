"""What becomes of an item when it is fixed."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ragbed.builder.counterfactuals import check_edit
from ragbed.data import Dataset
from ragbed.data.native import to_line
from ragbed.schema import Item
from ragbed.ui.review.apply import Fixed, fix_item
from ragbed.ui.review.log import PointDecision
from tests.items import base_item
from tests.ui.review.data import fixed, rejected, world


def fix(item: Item, **said: PointDecision) -> Fixed:
    """By names as Python has them: `passages_3__stance`."""
    names = {name.replace("__", "].").replace("_", "["): one for name, one in said.items()}
    whole = {name if "]" in name or "[" not in name else f"{name}]": one for name, one in names.items()}
    return fix_item(item, {name: replace(one, point=name) for name, one in whole.items()})


def assert_valid(item: Item, folder: Path) -> None:
    """It can be read back, so that all that the format asks for is there."""
    path = folder / "fixed.jsonl"
    path.write_bytes(to_line(item))
    assert list(Dataset("fixed", path).items()) == [item]


def test_accepted_items_are_unchanged_byte_for_byte() -> None:
    item = base_item(rgb={"id": 1})
    assert fix(item, question=PointDecision(point="", verdict="accept")).item is item


def test_question_and_aliases_are_replaced_and_listed() -> None:
    done = fix(base_item(), question=fixed("Which?"), answer_0=fixed(("gold", "Au")))
    assert done.item is not None
    assert (done.item.question, done.item.answer) == ("Which?", (("gold", "Au"),))
    assert done.changes == [
        ("question", "What is the answer to question 0?", "Which?"),
        ("answer[0]", ("gold-0-gold",), ("gold", "Au")),
    ]


def test_the_original_rgb_record_is_dropped_when_the_item_changes() -> None:
    done = fix(base_item(rgb={"id": 1, "answer": "x"}), question=fixed("Which?"))
    assert done.item is not None
    assert done.item.rgb is None


@pytest.mark.parametrize("point", ["question", "answer_0"])
def test_rejecting_a_fatal_point_removes_the_item_with_its_reason(point: str) -> None:
    done = fix(base_item(), **{point: rejected("no good")})
    assert done.item is None
    assert done.gone == [("", f"{point.replace('_0', '[0]')}: no good")]


def test_an_item_without_a_supporting_passage_is_removed() -> None:
    done = fix(base_item(supports=1, distracts=1), passages_0__stance=fixed("distracts"))
    assert done.item is None
    assert done.gone == [("", "no supporting passage remains")]


def test_a_new_label_replaces_everything_of_the_old_one() -> None:
    item = base_item(supports=2, distracts=1)
    marked = replace(item.passages[0], support=(0, 5))
    done = fix(replace(item, passages=(marked, *item.passages[1:])), passages_0__stance=fixed("distracts"))
    assert done.item is not None
    assert done.item.passages[0] == replace(marked, stance="distracts", support=None, reviewed=True)
    assert done.changes == [("passages[0].stance", "supports", "distracts")]


def test_an_item_is_removed_if_a_part_has_no_passage(tmp_path: Path) -> None:
    (item,) = world("int", 1)
    places = [index for index, one in enumerate(item.passages) if one.part == 1]
    away = {f"passages_{index}__stance": rejected() for index in places}
    done = fix(item, **away)
    assert done.item is None
    assert done.gone[-1] == ("", "no remaining passage supports part 1")
    moved = next(index for index, one in enumerate(item.passages) if one.stance == "distracts")
    done = fix(item, **away, **{f"passages_{moved}__stance": fixed("supports", part=1)})
    assert done.item is not None
    assert_valid(done.item, tmp_path)


def test_an_edit_is_removed_with_its_original_passage_only(tmp_path: Path) -> None:
    (item,) = world("fact", 1)
    edits = [index for index, one in enumerate(item.passages) if one.edit_of is not None]
    first = item.passages[edits[0]].edit_of
    for said, fate in ((rejected("unreadable"), "was removed"), (fixed("distracts"), "no longer supports the answer")):
        done = fix(item, **{f"passages_{first}__stance": said})
        assert done.item is not None
        assert_valid(done.item, tmp_path)
        assert (f"passages[{edits[0]}]", f"passages[{first}], the original of this edited passage, {fate}") in done.gone
        kept = [one for one in done.item.passages if one.edit_of is not None]
        assert len(kept) == len(edits) - 1
        for one in kept:
            original = next(old for old in item.passages if old.text == one.text)
            assert original.edit_of is not None
            assert one.edit_of is not None
            assert done.item.passages[one.edit_of].text == item.passages[original.edit_of].text


def test_false_answers_are_located_again_in_a_fixed_passage() -> None:
    (item,) = world("fact", 1)
    assert item.fake is not None
    place = next(index for index, one in enumerate(item.passages) if one.edit_of is not None)
    text = f"Some say that it is {item.fake[0][0]}."
    done = fix(item, **{f"passages_{place}__text": fixed(text)})
    assert done.item is not None
    assert done.item.fake is not None
    edited = done.item.passages[place]
    assert edited.text == text
    assert [edited.text[start:end] for start, end in edited.edits] == [item.fake[0][0]]
    assert edited.edit_of is not None
    assert check_edit(done.item, done.item.fake, done.item.passages[edited.edit_of].text, edited.text) == []


def test_without_edited_passages_the_item_is_removed() -> None:
    (item,) = world("fact", 1)
    edits = [index for index, one in enumerate(item.passages) if one.edit_of is not None]
    said = {
        name: PointDecision(point=name, verdict="reject", reason="does not fit")
        for name in (f"passages[{index}].text" for index in edits)
    }
    one = fix_item(item, dict(list(said.items())[:1]))
    assert one.item is not None
    assert one.gone == [(f"passages[{edits[0]}]", "text: does not fit")]
    assert fix_item(item, said).item is None
