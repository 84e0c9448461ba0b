"""Decisions: what can be decided and undone."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ragbed.errors import UsageError
from ragbed.ui.review.log import PointDecision
from tests.ui.review.data import accepted, fixed, open_session, rejected, world, write_data

KEY = "a/en-base-0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data", a=world("base", 3))


def test_an_item_is_started_and_then_decided(folder: Path) -> None:
    session = open_session(folder)
    assert session.items[KEY].state == "open"
    session.decide(KEY, [PointDecision(point="question", verdict="accept")])
    assert session.items[KEY].state == "begun"
    session.decide(KEY, accepted(session, KEY))
    assert session.items[KEY].state == "accepted"
    session.decide(KEY, [replace(fixed("Who was it?"), point="question")])
    assert session.items[KEY].state == "fixed"
    session.decide(KEY, [replace(rejected("unclear"), point="question")])
    assert session.items[KEY].state == "rejected"


def test_a_rejected_passage_does_not_reject_the_item(folder: Path) -> None:
    session = open_session(folder)
    session.decide(KEY, accepted(session, KEY, passages_0__stance=rejected("a duplicate")))
    assert session.items[KEY].state == "fixed"


def test_undoing_goes_back_step_by_step(folder: Path) -> None:
    session = open_session(folder)
    session.decide("a/en-base-1", accepted(session, "a/en-base-1"))
    session.decide(KEY, accepted(session, KEY))
    session.decide(KEY, [replace(rejected(), point="question")])
    assert session.undo() == KEY
    assert session.items[KEY].state == "accepted"
    assert session.undo() == KEY
    assert session.items[KEY].state == "open"
    again = open_session(folder)
    assert again.items[KEY].state == "open"
    assert again.items["a/en-base-1"].state == "accepted"
    assert again.undo() == "a/en-base-1"
    with pytest.raises(UsageError, match="there is no decision to undo"):
        again.undo()
    assert (folder / "review" / "decisions.jsonl").read_text("utf-8") == ""


def test_decisions_about_changed_items_do_not_count_and_are_reported(folder: Path) -> None:
    session = open_session(folder)
    for key in (KEY, "a/en-base-1"):
        session.decide(key, accepted(session, key))
    first, *rest = world("base", 3)
    write_data(folder, a=[replace(first, question=f"{first.question} So?"), *rest])
    again = open_session(folder)
    assert [line.item for line in again.stale] == [KEY]
    assert again.items[KEY].state == "open"
    assert again.items["a/en-base-1"].state == "accepted"
    assert again.undo() == "a/en-base-1"
