"""The dataset that comes of a review, with every removal and change told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragbed.builder.quality import read_reviewed
from ragbed.data import Dataset
from ragbed.errors import UsageError
from ragbed.io.pins import hash_file
from ragbed.ui.review.apply import apply_review
from ragbed.ui.review.session import ReviewSession
from tests.ui.review.data import accepted, fixed, open_session, rejected, world, write_data


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def read(folder: Path, name: str) -> dict[str, str]:
    return {item.id: item.question for item in Dataset(name, folder / f"{name}.jsonl").items()}


@pytest.fixture
def session(tmp_path: Path) -> ReviewSession:
    session = open_session(write_data(tmp_path / "data", a=world("base", 4), b=world("fact", 1)))
    session.decide("a/en-base-0", accepted(session, "a/en-base-0"))
    session.decide("a/en-base-1", [replace(rejected("unclear"), point="question")])
    said = accepted(session, "a/en-base-2", question=fixed("Who was it?"), passages_0__stance=rejected("a duplicate"))
    session.decide("a/en-base-2", said)
    session.decide("a/en-base-3", [replace(fixed("Not whole"), point="question")])
    return session


def test_rejected_items_are_removed_fixes_applied_and_the_rest_unchanged(
    session: ReviewSession, tmp_path: Path
) -> None:
    applied = apply_review(session, tmp_path / "out")
    items = world("base", 4)
    assert read(tmp_path / "out", "a") == {
        items[0].id: items[0].question,
        items[2].id: "Who was it?",
        items[3].id: items[3].question,
    }
    assert (tmp_path / "out" / "b.jsonl").read_bytes() == (tmp_path / "data" / "b.jsonl").read_bytes()
    assert (applied.items, applied.written, applied.accepted, applied.fixed) == (5, 4, 1, 1)
    assert (applied.rejected, applied.unreviewed, applied.passages_removed) == (1, 2, 1)


def test_every_removal_and_change_is_listed_with_its_reason(session: ReviewSession, tmp_path: Path) -> None:
    apply_review(session, tmp_path / "out")
    removed = {line["what"]: (line["outcome"], line["reason"]) for line in lines(tmp_path / "out/review/removed.jsonl")}
    assert removed == {
        "a/en-base-1": ("item", "question: unclear"),
        "a/en-base-2/passages[0]": ("passage", "stance: a duplicate"),
    }
    assert lines(tmp_path / "out/review/changed.jsonl") == [
        {"item": "a/en-base-2", "point": "question", "was": world("base", 4)[2].question, "now": "Who was it?"}
    ]


def test_an_edited_passage_that_was_fixed_can_be_read_back(tmp_path: Path) -> None:
    (item,) = world("fact", 1)
    assert item.fake is not None
    place = next(index for index, one in enumerate(item.passages) if one.edit_of is not None)
    assert item.passages[place].support is not None
    session = open_session(write_data(tmp_path / "data", b=[item]))
    session.decide("b/en-fact-0", accepted(session, "b/en-fact-0"))
    session.decide("b/en-fact-0", [replace(fixed(item.fake[0][0][:1]), point=f"passages[{place}].text")])
    apply_review(session, tmp_path / "out")
    (read_back,) = Dataset("b", tmp_path / "out" / "b.jsonl").items()
    assert read_back.passages[place].text != item.passages[place].text
    assert read_back.passages[place].support is None


def test_the_counts_of_a_review_are_stored_for_the_quality_report(session: ReviewSession, tmp_path: Path) -> None:
    apply_review(session, tmp_path / "out")
    reviewed = read_reviewed(tmp_path / "out")
    assert reviewed is not None
    assert reviewed.rater == "ada"
    assert reviewed.datasets["a"].sha256 == hash_file(tmp_path / "out" / "a.jsonl")


def test_a_dataset_without_items_is_not_written(tmp_path: Path) -> None:
    session = open_session(write_data(tmp_path / "data", a=world("base", 1)))
    session.decide("a/en-base-0", [replace(rejected("unclear"), point="question")])
    assert apply_review(session, tmp_path / "out").written == 0
    assert not list((tmp_path / "out").glob("*.jsonl"))


def test_existing_files_are_not_overwritten(session: ReviewSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="already exists and is not empty"):
        apply_review(session, tmp_path / "data")
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="already exists and is not empty"):
        apply_review(session, tmp_path / "file")
