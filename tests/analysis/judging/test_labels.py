"""Samples for people to label, and label files: one value per response, and a reason for every unused label."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import pytest

from ragbed.analysis.judging.criteria import CRITERIA, Verdict
from ragbed.analysis.judging.judge_run import LabelledUnit, Scope, is_unsure, judge_case
from ragbed.analysis.judging.labels import AgreedLabel, Label, draw_sample, read_labels, settle_labels
from ragbed.errors import DataError, UsageError
from ragbed.models.base import Sampling
from ragbed.runs.store import StoredResult
from ragbed.schema import Completion
from tests.runs.harness import make_case
from tests.scoring.robust.cases import make_case as make_question


def _label(label: bool | None, rater: str = "ann", case: str = "a", probability: float | None = None) -> Label:
    return Label(criterion="flag", model="m", case=case, label=label, rater=rater, probability=probability)


UNIT = LabelledUnit("flag", "m", "a", 0)


def test_the_majority_of_raters_decides() -> None:
    labels = settle_labels([_label(True), _label(True, "bob"), _label(False, "cy")])
    assert labels.agreed == {UNIT: AgreedLabel(True, None, frozenset({"ann", "bob", "cy"}))}


def test_a_tie_is_left_out_and_counted() -> None:
    labels = settle_labels([_label(True), _label(False, "bob")])
    assert labels.agreed == {}
    assert labels.left_out == {"because the raters disagree": 2}


@pytest.mark.parametrize("drawn", [_label(True, probability=0.25), _label(None, probability=0.25)])
def test_a_label_without_a_probability_does_not_remove_a_known_one(drawn: Label) -> None:
    for lines in ([drawn, _label(True, "bob")], [_label(True, "bob"), drawn]):
        assert settle_labels(lines).agreed[UNIT].probability == 0.25


def test_empty_labels_and_unknown_responses_are_counted() -> None:
    labels = settle_labels([_label(None), _label(True, case="elsewhere"), _label(True, "bob", case="elsewhere")])
    labels.keep({UNIT}, [UNIT.criterion])
    assert labels.agreed == {}
    assert labels.left_out == {"not filled in": 1, "for a response that is not being judged": 2}


def test_labels_for_other_responses_than_the_sampled_ones_are_left_out() -> None:
    labels = settle_labels([_label(True, probability=0.25), _label(False, case="another")])
    other = UNIT._replace(case="another")
    labels.keep({UNIT, other}, [UNIT.criterion])
    assert (list(labels.agreed), labels.left_out) == ([UNIT], {"for a response outside the sample": 1})
    uniform = settle_labels([_label(True), _label(False, case="another")])
    uniform.keep({UNIT, other}, [UNIT.criterion])
    assert list(uniform.agreed) == [UNIT, other]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"criterion": "flag"}', "is not a valid label: Object missing required field `model`"),
        ("poetry", "is not a valid label: JSON is malformed"),
        ('{"criterion": "flag", "model": "m", "case": "a", "label": "yes"}', "Expected `bool | null`"),
        ('{"criterion": "flag", "model": "m", "case": "a", "probability": 0}', "probability must be greater than 0"),
    ],
)
def test_an_invalid_label_line_is_reported(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(f'{{"criterion": "flag", "model": "m", "case": "a", "label": true}}\n{line}\n', "utf-8")
    with pytest.raises(DataError, match=r"labels\.jsonl:2") as caught:
        read_labels(path)
    assert told in str(caught.value)


CORRECT = CRITERIA["correct"]


def _replies(right: int, disputed: int) -> tuple[list[StoredResult], dict[str, dict[str, Verdict]]]:
    """Return right responses, some of which the judge counts as wrong."""
    replies = [
        StoredResult(make_case(number), "m", 0, Completion(outcome="ok", reply=f"It is gold-{number}."))
        for number in range(right + disputed)
    ]
    verdicts: dict[str, Verdict] = {
        judge_case(CORRECT, stored).case: number < right for number, stored in enumerate(replies)
    }
    return replies, {"judge": verdicts}


@pytest.mark.parametrize(
    ("right", "disputed", "size"), [(100, 10, 20), (1, 100, 50), (100, 1, 50), (30, 0, 12), (5, 5, 50)]
)
def test_a_sample_has_the_requested_size_if_possible(
    tmp_path_factory: pytest.TempPathFactory, right: int, disputed: int, size: int
) -> None:
    replies, judgements = _replies(right, disputed)
    scope = Scope(tmp_path_factory.getbasetemp(), CORRECT)
    drawn = draw_sample(scope, replies, judgements, size)
    assert len(drawn) == min(size, right + disputed)
    # One over the probability adds up to all of them, so that the correction can undo the choice.
    assert sum(1 / (label.probability or 0) for label in drawn) == pytest.approx(right + disputed)
    assert drawn == draw_sample(scope, replies, judgements, size)


def test_too_small_a_sample_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    replies, judgements = _replies(3, 3)
    with pytest.raises(UsageError, match=r"is too small. Use at least 2, one response per stratum"):
        draw_sample(Scope(tmp_path_factory.getbasetemp(), CORRECT), replies, judgements, 1)


_CASE = make_question("Which city hosted the games?", [["Athens"]], [["New York"]])


def _result(reply: str, outcome: Literal["ok", "error"] = "ok") -> StoredResult:
    return StoredResult(_CASE, "m", 0, Completion(outcome=outcome, reply=reply))


UNSURE = _result("Athens hosted the games. New York hosted the games.")
CERTAIN = _result("Athens hosted the games.")


def test_only_complete_responses_with_two_answers_are_unsure() -> None:
    assert is_unsure(UNSURE)
    assert not is_unsure(CERTAIN)
    assert not is_unsure(_result(UNSURE.completion.reply or "", "error"))


def test_only_a_fixed_token_limit_changes_the_name_of_the_folder(tmp_path: Path) -> None:
    auto, fixed = (Scope(tmp_path, CORRECT).folder(Sampling(raises_limit=raises)) for raises in (True, False))
    digest = hashlib.sha256(f"{CORRECT.prompt} {Sampling().key()}".encode()).hexdigest()[:8]
    assert auto.name == f"correct-{digest}"  # as in version 0.1.0
    assert fixed != auto


def test_unsure_responses_are_drawn_first_for_people_to_label(tmp_path: Path) -> None:
    certain = [
        StoredResult(make_question(f"Which city hosted games {at}?", [["Athens"]]), "m", 0, CERTAIN.completion)
        for at in range(40)
    ]
    drawn = draw_sample(Scope(tmp_path, CORRECT), [*certain, UNSURE], {}, 8)
    probabilities = sorted(label.probability or 0 for label in drawn)
    assert probabilities[-1] == 1  # the unsure response is always in the sample
    assert probabilities[0] == pytest.approx(7 / 40)
