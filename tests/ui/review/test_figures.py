"""What a review tells: the bound on wrong items."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ragbed.ui.review.session import ReviewCounts, ReviewSession, tally
from tests.ui.review.data import accepted, open_session, planted, rejected, world, write_data


def the_tally(session: ReviewSession) -> ReviewCounts:
    (one,) = tally(session)
    return one


def accept(session: ReviewSession, key: str) -> None:
    session.decide(key, accepted(session, key))


def test_none_wrong_of_59_rules_out_5_percent_and_one_fewer_does_not(tmp_path: Path) -> None:
    session = open_session(write_data(tmp_path, a=world("base", 70)))
    drawn = [key for key, item in session.items.items() if not item.flags]
    assert the_tally(session).bound is None
    assert the_tally(session).more == 59
    for key in drawn[:58]:
        accept(session, key)
    one = the_tally(session)
    assert (one.sampled, one.wrong, one.more) == (58, 0, 1)
    assert one.bound == pytest.approx(1 - 0.05 ** (1 / 58))
    accept(session, drawn[58])
    one = the_tally(session)
    assert (one.sampled, one.more) == (59, 0)
    assert one.bound == pytest.approx(0.0495, abs=1e-4)


def test_a_wrong_item_requires_a_larger_sample(tmp_path: Path) -> None:
    session = open_session(write_data(tmp_path, a=world("base", 30)), target=0.2)
    drawn = [key for key, item in session.items.items() if not item.flags]
    assert the_tally(session).more == 14
    session.decide(drawn[0], [replace(rejected(), point="question")])
    session.decide(drawn[1], accepted(session, drawn[1], passages_0__stance=rejected()))
    one = the_tally(session)
    assert (one.sampled, one.wrong) == (2, 2)
    assert one.more == min(30, one.drawn) - 2  # 30 with two wrong would do


def test_a_skipped_item_ends_the_sample(tmp_path: Path) -> None:
    session = open_session(write_data(tmp_path, a=world("base", 6)))
    for place in (0, 1, 3, 4):
        accept(session, list(session.items)[place])
    assert the_tally(session).sampled == 2
    accept(session, list(session.items)[2])
    assert the_tally(session).sampled == 5


def test_the_share_is_exact_when_all_items_were_reviewed(tmp_path: Path) -> None:
    session = open_session(write_data(tmp_path, a=world("base", 4)))
    for key in list(session.items)[:3]:
        accept(session, key)
    session.decide(list(session.items)[3], [replace(rejected(), point="question")])
    one = the_tally(session)
    assert (one.bound, one.more) == (0.25, 0)
    assert one.states == {"accepted": 3, "rejected": 1}


def test_flagged_items_are_counted_apart(tmp_path: Path) -> None:
    first, *rest = world("base", 4)
    session = open_session(write_data(tmp_path, a=[planted(first), *rest]))
    session.decide(next(iter(session.items)), [replace(rejected(), point="question")])
    one = the_tally(session)
    assert (one.flagged, one.flagged_done, one.drawn, one.sampled, one.wrong) == (1, 1, 3, 0, 0)
