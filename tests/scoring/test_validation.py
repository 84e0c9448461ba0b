"""The robust track on the development parts of the validation sets (`validation/README.md`), to which it is fitted."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches.scorer import Judged
from benches.scorer_sample import ORDINARY, read_final_labels, read_labels, read_rows
from ragbed.scoring.robust import score

FOLDER = Path(__file__).parent / "validation"
# Errors that the models make; a change must not make more.
FALSE_CREDIT, MISSED_CREDIT, REFUSALS_AND_FLAGS, ORDINARY_ERRORS, UNSURE = 7, 18, 2, 9, 14
ERRORS_2 = 36  # on the second development part


@pytest.fixture(scope="module")
def judged() -> list[Judged]:
    labels = read_labels(FOLDER, "adjudicated", "dev")
    rows = read_rows(FOLDER, "dev")
    return [Judged(row, labels[row.id], score(row.case(), row.response)) for row in rows]


def test_false_and_missed_credit_is_rare(judged: list[Judged]) -> None:
    wrong = [each for each in judged if not each.labels["correct"]]
    right = [each for each in judged if each.labels["correct"]]
    assert sum(bool(each.values["correct"]) for each in wrong) <= FALSE_CREDIT
    assert sum(not each.values["correct"] for each in right) <= MISSED_CREDIT
    assert len(wrong) > 900
    assert len(right) > 600


def test_refusals_and_flags_are_recognised(judged: list[Judged]) -> None:
    assert sum(each.is_wrong("", ("refused", "flagged")) for each in judged) <= REFUSALS_AND_FLAGS


def test_ordinary_responses_are_scored_as_labelled(judged: list[Judged]) -> None:
    ordinary = [each for each in judged if each.row.stratum in ORDINARY]
    assert len(ordinary) > 600
    assert sum(each.is_wrong("") for each in ordinary) <= ORDINARY_ERRORS
    assert sum(each.values["verdict"] == "unsure" for each in ordinary) <= len(ordinary) / 100


def test_few_verdicts_are_unsure_and_none_of_them_is_correct(judged: list[Judged]) -> None:
    unsure = [each for each in judged if each.values["verdict"] == "unsure"]
    assert len(unsure) <= UNSURE
    assert not any(each.values["correct"] for each in unsure)


def test_the_second_development_part_is_scored_as_its_author_labelled_it() -> None:
    labels, rows = read_final_labels(FOLDER, "dev-2"), read_rows(FOLDER, "dev-2")
    assert {row.id for row in rows} == set(labels)
    wrong = [row.id for row in rows if Judged(row, labels[row.id], score(row.case(), row.response)).is_wrong("")]
    assert len(rows) == 840
    assert len(wrong) <= ERRORS_2
