"""Decisions: who may say what, what two raters may see, what can be undone, and what comes from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragbed.errors import DataError, UsageError
from ragbed.ui.review.item_page import make_item_page, next_open, seen_state
from ragbed.ui.review.provenance import Provenance
from ragbed.ui.review.records import PointDecision
from ragbed.ui.review.session import SILENCE_S, ReviewSession, Seats
from tests.ui.review.data import accepted, fixed, open_session, rejected, world, write_data

KEY = "a/en-base-0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data", a=world("base", 3))


def shown(
    session: ReviewSession, rater: str, key: str = KEY
) -> dict[str, tuple[PointDecision | None, list[tuple[str, PointDecision]]]]:
    page = make_item_page(session, Provenance(Path("none")), key, rater)
    return {point.name: (point.mine, point.others) for point in page.points}


def test_an_item_is_started_and_then_decided(folder: Path) -> None:
    session = open_session(folder)
    assert session.state.of(KEY).state == "open"
    session.decide("ada", KEY, [PointDecision(point="question", verdict="accept")])
    assert session.state.of(KEY).state == "begun"
    session.decide("ada", KEY, accepted(session, KEY))
    assert session.state.of(KEY).state == "accepted"
    session.decide("ada", KEY, [replace(fixed("Who was it?"), point="question")])
    assert session.state.of(KEY).state == "fixed"
    session.decide("ada", KEY, [replace(rejected("unclear"), point="question")])
    assert session.state.of(KEY).state == "rejected"


def test_a_rejected_question_leaves_nothing_else_to_decide(folder: Path) -> None:
    session = open_session(folder)
    session.decide("ada", KEY, [replace(rejected(), point="known")])
    assert session.state.of(KEY).state == "rejected"


def test_a_rejected_passage_does_not_reject_the_item(folder: Path) -> None:
    session = open_session(folder)
    session.decide("ada", KEY, accepted(session, KEY, passages_0__stance=rejected("a duplicate")))
    assert session.state.of(KEY).state == "fixed"


def test_decisions_are_there_after_a_restart(folder: Path) -> None:
    open_session(folder).decide("ada", KEY, [replace(rejected(), point="question")])
    assert open_session(folder).state.of(KEY).state == "rejected"


def test_undoing_goes_back_step_by_step_and_the_log_keeps_all_of_it(folder: Path) -> None:
    session = open_session(folder)
    session.decide("ada", KEY, accepted(session, KEY))
    session.decide("bo", "a/en-base-1", accepted(session, "a/en-base-1"))
    session.decide("ada", KEY, [replace(rejected(), point="question")])
    assert session.undo("ada") == KEY
    assert session.state.of(KEY).state == "accepted"
    assert session.undo("ada") == KEY
    assert session.state.of(KEY).state == "open"
    with pytest.raises(UsageError, match="ada has no decision to undo"):
        session.undo("ada")
    again = open_session(folder)
    assert again.state.of(KEY).state == "open"
    assert again.state.of("a/en-base-1").state == "accepted"
    log = (folder / "review" / "decisions.jsonl").read_text("utf-8")
    assert log.count('"line":"decide"') == 3
    assert log.count('"line":"undo"') == 2


def test_the_last_decision_counts_if_several_people_share_the_work(folder: Path) -> None:
    session = open_session(folder)
    session.decide("ada", KEY, accepted(session, KEY))
    session.decide("bo", KEY, [replace(rejected(), point="question")])
    assert session.state.of(KEY).state == "rejected"
    mine, others = shown(session, "ada")["question"]
    assert mine is not None
    assert mine.verdict == "accept"
    assert [(who, said.verdict) for who, said in others] == [("bo", "reject")]


def test_the_last_decision_counts_whoever_made_it(folder: Path) -> None:
    session = open_session(folder)
    session.decide("ada", KEY, accepted(session, KEY))
    session.decide("bo", KEY, [replace(rejected(), point="question")])
    session.decide("ada", KEY, [PointDecision(point="question", verdict="accept")])
    assert session.state.of(KEY).state == "accepted"


def test_two_raters_see_nothing_of_each_other_until_both_are_done(folder: Path) -> None:
    session = open_session(folder, raters=2)
    session.decide("ada", KEY, accepted(session, KEY, question=rejected("unclear")))
    assert all(not others for _, others in shown(session, "bo").values())
    assert seen_state(session, KEY, "bo") == "open"
    assert seen_state(session, KEY, "ada") == "waiting"
    session.decide("bo", KEY, [PointDecision(point="question", verdict="accept")])
    assert all(not others for _, others in shown(session, "bo").values())
    assert all(not others for _, others in shown(session, "ada").values())
    session.decide("bo", KEY, accepted(session, KEY))
    assert [(who, said.reason) for who, said in shown(session, "bo")["question"][1]] == [("ada", "unclear")]
    assert seen_state(session, KEY, "bo") == "disagreed"


def test_both_decide_each_item_and_where_they_agree_it_is_settled(folder: Path) -> None:
    session = open_session(folder, raters=2)
    session.decide("ada", KEY, accepted(session, KEY))
    assert session.state.of(KEY).state == "waiting"
    session.decide("bo", KEY, accepted(session, KEY))
    assert session.state.of(KEY).state == "accepted"


def test_after_both_are_done_only_what_they_differ_on_can_be_decided_and_undone(folder: Path) -> None:
    session = open_session(folder, raters=2)
    session.decide("ada", KEY, accepted(session, KEY, passages_0__stance=fixed("distracts")))
    session.decide("bo", KEY, accepted(session, KEY))
    assert session.state.of(KEY).differing == ["passages[0].stance"]
    for attempt in (lambda: session.decide("bo", KEY, accepted(session, KEY)), lambda: session.undo("bo")):
        with pytest.raises(UsageError, match="both raters have already reviewed"):
            attempt()
    with pytest.raises(UsageError, match="only points on which the two raters disagree"):
        session.decide("cy", KEY, [PointDecision(point="question", verdict="accept")], final=True)
    session.decide("cy", KEY, [PointDecision(point="passages[0].stance", verdict="accept")], final=True)
    assert session.state.of(KEY).state == "accepted"
    session.undo("cy")
    assert session.state.of(KEY).state == "disagreed"


def test_settling_decides_if_only_one_rater_rejects(folder: Path) -> None:
    session = open_session(folder, raters=2)
    session.decide("ada", KEY, [replace(rejected("unclear"), point="question")])
    session.decide("bo", KEY, accepted(session, KEY, passages_1__stance=rejected("a duplicate")))
    assert session.state.of(KEY).differing == ["question"]
    session.decide("bo", KEY, [PointDecision(point="question", verdict="accept")], final=True)
    assert session.state.of(KEY).state == "fixed"
    assert session.state.of(KEY).settled["passages[1].stance"].reason == "a duplicate"


def test_two_rejections_agree_with_different_reasons(folder: Path) -> None:
    session = open_session(folder, raters=2)
    session.decide("ada", KEY, [replace(rejected("unclear"), point="question")])
    session.decide("bo", KEY, [replace(rejected("common knowledge"), point="known")])
    assert session.state.of(KEY).state == "rejected"


def test_a_third_may_settle_but_not_rate(folder: Path) -> None:
    session = open_session(folder, raters=2)
    for rater in ("ada", "bo"):
        session.decide(rater, KEY, [PointDecision(point="question", verdict="accept")])
    with pytest.raises(UsageError, match="has two raters, ada and bo; cy can resolve disagreements, but"):
        session.decide("cy", KEY, [PointDecision(point="question", verdict="accept")])
    assert next_open(session, "cy") is None
    session.decide("ada", KEY, accepted(session, KEY))
    session.decide("bo", KEY, accepted(session, KEY, question=fixed("Who?")))
    assert next_open(session, "cy") == KEY
    assert next_open(session, "ada") != KEY


def test_disagreements_come_after_all_other_items(folder: Path) -> None:
    session = open_session(folder, raters=2)
    for key in session.order:
        session.decide("ada", key, accepted(session, key))
        session.decide(
            "bo", key, accepted(session, key, question=fixed("Who?")) if key == KEY else accepted(session, key)
        )
    assert next_open(session, "ada") == next_open(session, "bo") == KEY
    session.decide("bo", KEY, [PointDecision(point="question", verdict="accept")], final=True)
    assert next_open(session, "ada") is None


def test_a_rater_who_undid_everything_does_not_count(folder: Path) -> None:
    session = open_session(folder, raters=2)
    session.decide("aad", KEY, [PointDecision(point="question", verdict="accept")])
    session.undo("aad")
    for rater in ("ada", "bo"):
        session.decide(rater, KEY, accepted(session, KEY))
    assert session.state.raters == ["ada", "bo"]


def test_decisions_are_imported_once(folder: Path, tmp_path: Path) -> None:
    other = write_data(tmp_path / "other", a=world("base", 3))
    there = open_session(other, raters=2)
    there.decide("bo", KEY, accepted(there, KEY))
    there.decide("bo", "a/en-base-1", accepted(there, "a/en-base-1"))
    there.undo("bo")
    session = open_session(folder, raters=2)
    session.decide("ada", KEY, accepted(session, KEY))
    assert session.take_in(other / "review" / "decisions.jsonl") == 3
    assert session.take_in(other / "review" / "decisions.jsonl") == 0
    assert session.state.of(KEY).state == "accepted"
    assert session.state.of("a/en-base-1").state == "open"


def _reject_elsewhere(folder: Path, year: str) -> Path:
    """The file of a decision that was made in another copy, by a clock of that year."""
    other = write_data(folder, a=world("base", 3))
    open_session(other).decide("bo", KEY, [replace(rejected(), point="question")])
    path = other / "review" / "decisions.jsonl"
    path.write_text(re.sub(r'"at":"....', f'"at":"{year}', path.read_text("utf-8")))
    return path


def test_an_older_decision_from_elsewhere_does_not_replace_a_newer_one(folder: Path, tmp_path: Path) -> None:
    path = _reject_elsewhere(tmp_path / "other", "2025")
    session = open_session(folder)
    session.decide("bo", KEY, accepted(session, KEY))
    assert session.take_in(path) == 1
    for one in (session, open_session(folder)):
        assert one.state.of(KEY).state == "accepted"
    session.undo("bo")
    assert session.state.of(KEY).state == "rejected"


def test_a_new_decision_counts_even_if_another_clock_is_ahead(folder: Path, tmp_path: Path) -> None:
    path = _reject_elsewhere(tmp_path / "other", "2999")
    session = open_session(folder)
    session.take_in(path)
    session.decide("ada", KEY, accepted(session, KEY))
    assert session.state.of(KEY).state == "accepted"


@pytest.mark.parametrize(("here", "there"), [(1, 2), (2, 1)])
def test_decisions_made_with_another_number_of_raters_are_refused(
    folder: Path, tmp_path: Path, here: int, there: int
) -> None:
    other = write_data(tmp_path / "other", a=world("base", 3))
    away = open_session(other, raters=there)
    away.decide("bo", KEY, accepted(away, KEY))
    session = open_session(folder, raters=here)
    with pytest.raises(DataError, match=f"was created with raters={there}, but this review uses raters={here}"):
        session.take_in(other / "review" / "decisions.jsonl")
    assert session.state.raters == []


def test_decisions_of_a_third_rater_are_not_imported(folder: Path, tmp_path: Path) -> None:
    other = write_data(tmp_path / "other", a=world("base", 3))
    there = open_session(other, raters=2)
    for rater in ("bo", "cy"):
        there.decide(rater, KEY, accepted(there, KEY))
    session = open_session(folder, raters=2)
    session.decide("ada", KEY, accepted(session, KEY))
    with pytest.raises(DataError, match=r"would bring the number of raters to 3 \(ada, bo, cy\)"):
        session.take_in(other / "review" / "decisions.jsonl")
    assert session.state.raters == ["ada"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("en-base-0", "en-base-77"), "item 'a/en-base-77' does not exist"),
        (('"digest":"', '"digest":"0'), "has changed since this decision"),
        (('"point":"question"', '"point":"quest"'), "has no review point 'quest'"),
        (('"rater":"bo"', '"rater":"bo\\u202e"'), "is not a valid name: use 1 to 40 visible characters"),
        (("+00:00", "+01:00"), "is not a valid time, e.g."),
    ],
)
def test_decisions_about_other_items_are_refused_with_their_line(
    folder: Path, tmp_path: Path, change: tuple[str, str], problem: str
) -> None:
    other = write_data(tmp_path / "other", a=world("base", 3))
    there = open_session(other)
    there.decide("bo", "a/en-base-1", accepted(there, "a/en-base-1"))
    there.decide("bo", KEY, accepted(there, KEY))
    path = other / "review" / "decisions.jsonl"
    head, good, last = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text(head + good + last.replace(*change))
    session = open_session(folder)
    with pytest.raises(DataError, match=problem) as told:
        session.take_in(path)
    assert "decisions.jsonl:3:" in str(told.value)
    assert "nothing was imported" in str(told.value)
    assert session.state.of("a/en-base-1").state == "open"


def test_the_log_of_other_data_is_refused(folder: Path) -> None:
    session = open_session(folder)
    session.decide("ada", KEY, accepted(session, KEY))
    write_data(folder, a=[replace(item, question=f"{item.question} So?") for item in world("base", 3)])
    with pytest.raises(DataError, match="belongs to a review of a different dataset"):
        open_session(folder)


def test_decisions_about_changed_items_do_not_count_and_are_reported(folder: Path) -> None:
    session = open_session(folder)
    for key in (KEY, "a/en-base-1"):
        session.decide("ada", key, accepted(session, key))
    first, *rest = world("base", 3)
    write_data(folder, a=[replace(first, question=f"{first.question} So?"), *rest])
    again = open_session(folder)
    assert [line.item for line in again.state.stale.values()] == [KEY]
    assert again.state.of(KEY).state == "open"
    assert again.state.of("a/en-base-1").state == "accepted"
    assert again.undo("ada") == "a/en-base-1"


def test_one_name_has_one_window_at_a_time() -> None:
    time = [0.0]
    seats = Seats(clock=lambda: time[0])
    seats.take("ada", "w1")
    time[0] = SILENCE_S - 1
    with pytest.raises(UsageError, match="ada is in use in another window"):
        seats.take("ada", "w2")
    seats.take("bo", "w2")
    seats.take("ada", "w1")
    time[0] += SILENCE_S
    seats.take("ada", "w2")
    with pytest.raises(UsageError, match="another window"):
        seats.take("ada", "w1")


@pytest.mark.parametrize("name", ["", " ", " ada", "x" * 41, "a\nb", "a\u202eb"])
def test_a_name_can_be_read(name: str) -> None:
    with pytest.raises(UsageError, match="is not a valid name"):
        Seats().take(name, "w")
