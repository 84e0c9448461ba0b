"""Label files: one value per response, and a reason for every unused label."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.analysis.judging.labels import AgreedLabel, Label, LabelledUnit, read_labels, settle_labels
from ragbed.errors import DataError


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


def test_a_rater_counts_once() -> None:
    labels = settle_labels([_label(True), _label(True), _label(False, "bob"), _label(False, "cy")])
    assert labels.agreed[UNIT].value is False
    assert labels.left_out == {"by a rater who had already labelled the response": 1}


def test_a_rater_with_both_labels_does_not_count() -> None:
    labels = settle_labels([_label(True), _label(False), _label(False, "bob")])
    assert labels.agreed[UNIT].value is False


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
