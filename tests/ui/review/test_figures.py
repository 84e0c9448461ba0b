"""What a review tells: the bound on wrong items, and how far two raters agree."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragbed.ui.review.figures import ReviewCounts, concord, tally
from ragbed.ui.review.session import ReviewSession
from tests.ui.review.data import accepted, fixed, open_session, planted, rejected, world, write_data


def the_tally(session: ReviewSession) -> ReviewCounts:
    (one,) = tally(session.state)
    return one


def accept(session: ReviewSession, key: str, rater: str = "ada") -> None:
    session.decide(rater, key, accepted(session, key))


def test_none_wrong_of_59_rules_out_5_percent_and_one_fewer_does_not(tmp_path: Path) -> None:
    session = open_session(write_data(tmp_path, a=world("base", 70)))
    drawn = [key for key in session.order if not session.queue.entries[key].flags]
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
    drawn = [key for key in session.order if not session.queue.entries[key].flags]
    assert the_tally(session).more == 14
    session.decide("ada", drawn[0], [replace(rejected(), point="question")])
    session.decide("ada", drawn[1], accepted(session, drawn[1], passages_0__stance=rejected()))
    one = the_tally(session)
    assert (one.sampled, one.wrong) == (2, 2)
    assert one.more == min(30, one.drawn) - 2  # 30 with two wrong would do


def test_a_skipped_item_ends_the_sample(tmp_path: Path) -> None:
    session = open_session(write_data(tmp_path, a=world("base", 6)))
    for place in (0, 1, 3, 4):
        accept(session, session.order[place])
    assert the_tally(session).sampled == 2
    accept(session, session.order[2])
    assert the_tally(session).sampled == 5


def test_the_share_is_exact_when_all_items_were_reviewed(tmp_path: Path) -> None:
    session = open_session(write_data(tmp_path, a=world("base", 4)))
    for key in session.order[:3]:
        accept(session, key)
    session.decide("ada", session.order[3], [replace(rejected(), point="question")])
    one = the_tally(session)
    assert (one.bound, one.more) == (0.25, 0)
    assert one.states == {"accepted": 3, "rejected": 1}


def test_flagged_items_are_counted_apart(tmp_path: Path) -> None:
    first, *rest = world("base", 4)
    session = open_session(write_data(tmp_path, a=[planted(first), *rest]))
    session.decide("ada", session.order[0], [replace(rejected(), point="question")])
    one = the_tally(session)
    assert (one.flagged, one.flagged_done, one.drawn, one.sampled, one.wrong) == (1, 1, 3, 0, 0)


def test_agreement_is_measured_before_settlement(tmp_path: Path) -> None:
    session = open_session(write_data(tmp_path, a=world("base", 4)), raters=2)
    # Of four items both accept two, both fix one, and differ on one: agreed 3/4, by chance 1/2, so kappa is 1/2.
    verdicts = [("ok", "ok"), ("ok", "ok"), ("fix", "fix"), ("fix", "ok")]
    for key, both in zip(session.order, verdicts, strict=True):
        for rater, verdict in zip(("ada", "bo"), both, strict=True):
            said = accepted(session, key) if verdict == "ok" else accepted(session, key, question=fixed("Who was it?"))
            session.decide(rater, key, said)
    told = {one.kind: one for one in concord(session.state)}
    for kind in ("item", "question"):
        assert (told[kind].n, told[kind].agreed.value) == (4, 0.75)
        assert told[kind].kappa.value == pytest.approx(0.5)
    assert told["stance"].agreed.value == 1
    assert math.isnan(told["stance"].kappa.value)
    session.decide("ada", session.order[3], [replace(fixed("Who was it?"), point="question")], final=True)
    assert {one.kind: one.agreed.value for one in concord(session.state)}["item"] == 0.75
    assert the_tally(session).wrong == 2


def test_one_rater_has_no_agreement(tmp_path: Path) -> None:
    session = open_session(write_data(tmp_path, a=world("base", 1)))
    accept(session, session.order[0])
    assert concord(session.state) == []
