"""What is reviewed, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.errors import DataError, UsageError
from ragbed.ui.review.queue import find_datasets
from tests.ui.review.data import open_queue, planted, world, write_data


def test_flagged_items_come_first_and_the_others_in_turn_from_each_dataset(tmp_path: Path) -> None:
    first, *rest = world("base", 5)
    queue = open_queue(write_data(tmp_path, a=rest, b=[planted(first), *world("fact", 2)]))
    order = [entry.data for entry in queue.order(0)]
    assert order == ["b", "a", "b", "a", "b", "a", "a"]
    assert [bool(entry.flags) for entry in queue.order(0)] == [True, *[False] * 6]


def test_the_order_is_drawn_and_stays_when_items_are_added(tmp_path: Path) -> None:
    items = world("base", 12)
    draw = [entry.key for entry in open_queue(write_data(tmp_path / "x", a=items)).draw("a", 0)]
    assert draw != sorted(draw)
    assert draw != [entry.key for entry in open_queue(tmp_path / "x").draw("a", 1)]
    fewer = [entry.key for entry in open_queue(write_data(tmp_path / "y", a=items[:6])).draw("a", 0)]
    assert [key for key in draw if key in fewer] == fewer


def test_an_item_is_read_unchanged(tmp_path: Path) -> None:
    items = world("int", 2)
    queue = open_queue(write_data(tmp_path, en_int=items))
    assert [queue.read(f"en_int/{item.id}") for item in items] == list(items)
    with pytest.raises(UsageError, match=r"item 'en_int/\.\./x' does not exist"):
        queue.read("en_int/../x")


def test_a_file_is_reviewed_beside_itself(tmp_path: Path) -> None:
    write_data(tmp_path, en_base=world("base", 1))
    datasets, folder = find_datasets(tmp_path / "en_base.jsonl")
    assert [dataset.name for dataset in datasets] == ["en_base"]
    assert folder == tmp_path / "en_base.review"


def test_a_path_without_a_dataset_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"does not exist. Choose a build folder"):
        find_datasets(tmp_path / "none")
    with pytest.raises(UsageError, match="contains no dataset"):
        find_datasets(tmp_path)
    (tmp_path / "runs.jsonl").write_text('{"reply": "x"}\n')
    with pytest.raises(DataError, match="unknown record format"):
        open_queue(tmp_path)
