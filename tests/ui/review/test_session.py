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
from tests.ui.review.data import accepted, fixed, open_desk, rejected, world, write_data

KEY = "a/en-base-0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data", a=world("base", 3))


def shown(
    desk: ReviewSession, rater: str, key: str = KEY
) -> dict[str, tuple[PointDecision | None, list[tuple[str, PointDecision]]]]:
    page = make_item_page(desk, Provenance(Path("none")), key, rater)
    return {point.name: (point.mine, point.others) for point in page.points}


def test_an_item_is_begun_then_decided(folder: Path) -> None:
    desk = open_desk(folder)
    assert desk.standing.of(KEY).state == "open"
    desk.decide("ada", KEY, [PointDecision(point="question", verdict="accept")])
    assert desk.standing.of(KEY).state == "begun"
    desk.decide("ada", KEY, accepted(desk, KEY))
    assert desk.standing.of(KEY).state == "accepted"
    desk.decide("ada", KEY, [replace(fixed("Who was it?"), point="question")])
    assert desk.standing.of(KEY).state == "fixed"
    desk.decide("ada", KEY, [replace(rejected("unclear"), point="question")])
    assert desk.standing.of(KEY).state == "rejected"


def test_a_rejected_question_leaves_nothing_else_to_decide(folder: Path) -> None:
    desk = open_desk(folder)
    desk.decide("ada", KEY, [replace(rejected(), point="known")])
    assert desk.standing.of(KEY).state == "rejected"


def test_a_rejected_passage_does_not_reject_the_item(folder: Path) -> None:
    desk = open_desk(folder)
    desk.decide("ada", KEY, accepted(desk, KEY, passages_0__stance=rejected("a duplicate")))
    assert desk.standing.of(KEY).state == "fixed"


def test_what_was_decided_is_there_after_a_new_start(folder: Path) -> None:
    open_desk(folder).decide("ada", KEY, [replace(rejected(), point="question")])
    assert open_desk(folder).standing.of(KEY).state == "rejected"


def test_undoing_goes_back_step_by_step_and_the_log_keeps_all_of_it(folder: Path) -> None:
    desk = open_desk(folder)
    desk.decide("ada", KEY, accepted(desk, KEY))
    desk.decide("bo", "a/en-base-1", accepted(desk, "a/en-base-1"))
    desk.decide("ada", KEY, [replace(rejected(), point="question")])
    assert desk.undo("ada") == KEY
    assert desk.standing.of(KEY).state == "accepted"
    assert desk.undo("ada") == KEY
    assert desk.standing.of(KEY).state == "open"
    with pytest.raises(UsageError, match="ada has decided nothing that could be undone"):
        desk.undo("ada")
    again = open_desk(folder)
    assert again.standing.of(KEY).state == "open"
    assert again.standing.of("a/en-base-1").state == "accepted"
    log = (folder / "review" / "decisions.jsonl").read_text()
    assert log.count('"line":"decide"') == 3
    assert log.count('"line":"undo"') == 2


def test_of_several_people_who_share_the_work_the_last_word_counts(folder: Path) -> None:
    desk = open_desk(folder)
    desk.decide("ada", KEY, accepted(desk, KEY))
    desk.decide("bo", KEY, [replace(rejected(), point="question")])
    assert desk.standing.of(KEY).state == "rejected"
    mine, others = shown(desk, "ada")["question"]
    assert mine is not None
    assert mine.verdict == "accept"
    assert [(who, said.verdict) for who, said in others] == [("bo", "reject")]


def test_the_last_word_counts_also_if_it_is_of_who_spoke_first(folder: Path) -> None:
    desk = open_desk(folder)
    desk.decide("ada", KEY, accepted(desk, KEY))
    desk.decide("bo", KEY, [replace(rejected(), point="question")])
    desk.decide("ada", KEY, [PointDecision(point="question", verdict="accept")])
    assert desk.standing.of(KEY).state == "accepted"


def test_two_raters_see_nothing_of_each_other_until_both_are_done(folder: Path) -> None:
    desk = open_desk(folder, raters=2)
    desk.decide("ada", KEY, accepted(desk, KEY, question=rejected("unclear")))
    assert all(not others for _, others in shown(desk, "bo").values())
    assert seen_state(desk, KEY, "bo") == "open"
    assert seen_state(desk, KEY, "ada") == "waiting"
    desk.decide("bo", KEY, [PointDecision(point="question", verdict="accept")])
    assert all(not others for _, others in shown(desk, "bo").values())
    assert all(not others for _, others in shown(desk, "ada").values())
    desk.decide("bo", KEY, accepted(desk, KEY))
    assert [(who, said.reason) for who, said in shown(desk, "bo")["question"][1]] == [("ada", "unclear")]
    assert seen_state(desk, KEY, "bo") == "disagreed"


def test_both_decide_each_item_and_where_they_agree_it_is_settled(folder: Path) -> None:
    desk = open_desk(folder, raters=2)
    desk.decide("ada", KEY, accepted(desk, KEY))
    assert desk.standing.of(KEY).state == "waiting"
    desk.decide("bo", KEY, accepted(desk, KEY))
    assert desk.standing.of(KEY).state == "accepted"


def test_after_both_are_done_only_what_they_differ_on_can_be_decided_and_undone(folder: Path) -> None:
    desk = open_desk(folder, raters=2)
    desk.decide("ada", KEY, accepted(desk, KEY, passages_0__stance=fixed("distracts")))
    desk.decide("bo", KEY, accepted(desk, KEY))
    assert desk.standing.of(KEY).differing == ["passages[0].stance"]
    for attempt in (lambda: desk.decide("bo", KEY, accepted(desk, KEY)), lambda: desk.undo("bo")):
        with pytest.raises(UsageError, match="both raters have decided"):
            attempt()
    with pytest.raises(UsageError, match="only what two raters differ on"):
        desk.decide("cy", KEY, [PointDecision(point="question", verdict="accept")], final=True)
    desk.decide("cy", KEY, [PointDecision(point="passages[0].stance", verdict="accept")], final=True)
    assert desk.standing.of(KEY).state == "accepted"
    desk.undo("cy")
    assert desk.standing.of(KEY).state == "disagreed"


def test_where_one_rejects_and_the_other_does_not_settling_decides(folder: Path) -> None:
    desk = open_desk(folder, raters=2)
    desk.decide("ada", KEY, [replace(rejected("unclear"), point="question")])
    desk.decide("bo", KEY, accepted(desk, KEY, passages_1__stance=rejected("a duplicate")))
    assert desk.standing.of(KEY).differing == ["question"]
    desk.decide("bo", KEY, [PointDecision(point="question", verdict="accept")], final=True)
    assert desk.standing.of(KEY).state == "fixed"
    assert desk.standing.of(KEY).settled["passages[1].stance"].reason == "a duplicate"


def test_where_both_reject_an_item_their_reasons_need_not_agree(folder: Path) -> None:
    desk = open_desk(folder, raters=2)
    desk.decide("ada", KEY, [replace(rejected("unclear"), point="question")])
    desk.decide("bo", KEY, [replace(rejected("known already"), point="known")])
    assert desk.standing.of(KEY).state == "rejected"


def test_a_third_may_settle_but_not_rate(folder: Path) -> None:
    desk = open_desk(folder, raters=2)
    for rater in ("ada", "bo"):
        desk.decide(rater, KEY, [PointDecision(point="question", verdict="accept")])
    with pytest.raises(UsageError, match="has its two raters, ada and bo; cy can settle"):
        desk.decide("cy", KEY, [PointDecision(point="question", verdict="accept")])
    assert next_open(desk, "cy") is None
    desk.decide("ada", KEY, accepted(desk, KEY))
    desk.decide("bo", KEY, accepted(desk, KEY, question=fixed("Who?")))
    assert next_open(desk, "cy") == KEY
    assert next_open(desk, "ada") != KEY


def test_what_two_differ_on_comes_when_nothing_else_is_left(folder: Path) -> None:
    desk = open_desk(folder, raters=2)
    for key in desk.order:
        desk.decide("ada", key, accepted(desk, key))
        desk.decide("bo", key, accepted(desk, key, question=fixed("Who?")) if key == KEY else accepted(desk, key))
    assert next_open(desk, "ada") == next_open(desk, "bo") == KEY
    desk.decide("bo", KEY, [PointDecision(point="question", verdict="accept")], final=True)
    assert next_open(desk, "ada") is None


def test_who_undid_everything_is_no_rater(folder: Path) -> None:
    desk = open_desk(folder, raters=2)
    desk.decide("aad", KEY, [PointDecision(point="question", verdict="accept")])
    desk.undo("aad")
    for rater in ("ada", "bo"):
        desk.decide(rater, KEY, accepted(desk, KEY))
    assert desk.standing.raters == ["ada", "bo"]


def test_decisions_made_elsewhere_are_taken_in_once(folder: Path, tmp_path: Path) -> None:
    other = write_data(tmp_path / "other", a=world("base", 3))
    there = open_desk(other, raters=2)
    there.decide("bo", KEY, accepted(there, KEY))
    there.decide("bo", "a/en-base-1", accepted(there, "a/en-base-1"))
    there.undo("bo")
    desk = open_desk(folder, raters=2)
    desk.decide("ada", KEY, accepted(desk, KEY))
    assert desk.take_in(other / "review" / "decisions.jsonl") == 3
    assert desk.take_in(other / "review" / "decisions.jsonl") == 0
    assert desk.standing.of(KEY).state == "accepted"
    assert desk.standing.of("a/en-base-1").state == "open"


def _reject_elsewhere(folder: Path, year: str) -> Path:
    """The file of a decision that was made in another copy, by a clock of that year."""
    other = write_data(folder, a=world("base", 3))
    open_desk(other).decide("bo", KEY, [replace(rejected(), point="question")])
    path = other / "review" / "decisions.jsonl"
    path.write_text(re.sub(r'"at":"....', f'"at":"{year}', path.read_text()))
    return path


def test_an_older_decision_from_elsewhere_does_not_replace_a_newer_one(folder: Path, tmp_path: Path) -> None:
    path = _reject_elsewhere(tmp_path / "other", "2025")
    desk = open_desk(folder)
    desk.decide("bo", KEY, accepted(desk, KEY))
    assert desk.take_in(path) == 1
    for one in (desk, open_desk(folder)):
        assert one.standing.of(KEY).state == "accepted"
    desk.undo("bo")
    assert desk.standing.of(KEY).state == "rejected"


def test_what_is_decided_here_counts_although_a_clock_elsewhere_is_ahead(folder: Path, tmp_path: Path) -> None:
    path = _reject_elsewhere(tmp_path / "other", "2999")
    desk = open_desk(folder)
    desk.take_in(path)
    desk.decide("ada", KEY, accepted(desk, KEY))
    assert desk.standing.of(KEY).state == "accepted"


@pytest.mark.parametrize(("here", "there"), [(1, 2), (2, 1)])
def test_decisions_made_with_another_number_of_raters_are_refused(
    folder: Path, tmp_path: Path, here: int, there: int
) -> None:
    other = write_data(tmp_path / "other", a=world("base", 3))
    away = open_desk(other, raters=there)
    away.decide("bo", KEY, accepted(away, KEY))
    desk = open_desk(folder, raters=here)
    with pytest.raises(
        DataError, match=f"was made with --raters {there}, and this review is done with --raters {here}"
    ):
        desk.take_in(other / "review" / "decisions.jsonl")
    assert desk.standing.raters == []


def test_decisions_of_a_third_rater_are_not_taken_in(folder: Path, tmp_path: Path) -> None:
    other = write_data(tmp_path / "other", a=world("base", 3))
    there = open_desk(other, raters=2)
    for rater in ("bo", "cy"):
        there.decide(rater, KEY, accepted(there, KEY))
    desk = open_desk(folder, raters=2)
    desk.decide("ada", KEY, accepted(desk, KEY))
    with pytest.raises(DataError, match=r"there would be 3 raters \(ada, bo, cy\)"):
        desk.take_in(other / "review" / "decisions.jsonl")
    assert desk.standing.raters == ["ada"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("en-base-0", "en-base-77"), "there is no item 'a/en-base-77' here"),
        (('"digest":"', '"digest":"0'), "is not what it was when this was decided"),
        (('"point":"question"', '"point":"quest"'), "has no point 'quest'"),
        (('"rater":"bo"', '"rater":"bo\\u202e"'), "is no name: give 1 to 40 visible characters"),
        (("+00:00", "+01:00"), "is no time as the log has it"),
    ],
)
def test_decisions_about_something_else_are_refused_with_their_line_and_none_is_taken(
    folder: Path, tmp_path: Path, change: tuple[str, str], problem: str
) -> None:
    other = write_data(tmp_path / "other", a=world("base", 3))
    there = open_desk(other)
    there.decide("bo", "a/en-base-1", accepted(there, "a/en-base-1"))
    there.decide("bo", KEY, accepted(there, KEY))
    path = other / "review" / "decisions.jsonl"
    head, good, last = path.read_text().splitlines(keepends=True)
    path.write_text(head + good + last.replace(*change))
    desk = open_desk(folder)
    with pytest.raises(DataError, match=problem) as told:
        desk.take_in(path)
    assert "decisions.jsonl:3:" in str(told.value)
    assert "nothing was taken" in str(told.value)
    assert desk.standing.of("a/en-base-1").state == "open"


def test_the_log_of_other_data_is_refused(folder: Path) -> None:
    desk = open_desk(folder)
    desk.decide("ada", KEY, accepted(desk, KEY))
    write_data(folder, a=[replace(item, question=f"{item.question} So?") for item in world("base", 3)])
    with pytest.raises(DataError, match="is the log of other data"):
        open_desk(folder)


def test_decisions_on_items_that_changed_do_not_count_and_are_told(folder: Path) -> None:
    desk = open_desk(folder)
    for key in (KEY, "a/en-base-1"):
        desk.decide("ada", key, accepted(desk, key))
    first, *rest = world("base", 3)
    write_data(folder, a=[replace(first, question=f"{first.question} So?"), *rest])
    again = open_desk(folder)
    assert [line.item for line in again.standing.stale.values()] == [KEY]
    assert again.standing.of(KEY).state == "open"
    assert again.standing.of("a/en-base-1").state == "accepted"
    assert again.undo("ada") == "a/en-base-1"


def test_one_name_has_one_window_at_a_time() -> None:
    time = [0.0]
    seats = Seats(clock=lambda: time[0])
    seats.take("ada", "w1")
    time[0] = SILENCE_S - 1
    with pytest.raises(UsageError, match="ada is at work in another window"):
        seats.take("ada", "w2")
    seats.take("bo", "w2")
    seats.take("ada", "w1")
    time[0] += SILENCE_S
    seats.take("ada", "w2")
    with pytest.raises(UsageError, match="another window"):
        seats.take("ada", "w1")


@pytest.mark.parametrize("name", ["", " ", " ada", "x" * 41, "a\nb", "a\u202eb"])
def test_a_name_can_be_read(name: str) -> None:
    with pytest.raises(UsageError, match="is no name"):
        Seats().take(name, "w")
