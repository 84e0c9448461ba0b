from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ragbed.errors import UsageError
from ragbed.judge.labels import Label, Unit, read_labels
from ragbed.runner.store import Stored
from ragbed.view.labelling import asked_of, put_label, read_all
from tests.view.runs import CASES, said

STORED = Stored(CASES[2], "made/good", 0, said("I cannot tell."))
UNIT = Unit("refusal", "made/good", CASES[2].case, 0)


def write(run: Path, *labels: Label) -> None:
    (run / "labels.jsonl").write_bytes(b"".join(msgspec.json.encode(label) + b"\n" for label in labels))


def test_a_label_can_be_given_changed_and_taken_back(tmp_path: Path) -> None:
    put_label(tmp_path, STORED, "refusal", True, "ada")
    assert read_labels(tmp_path / "labels.jsonl").said[UNIT].value is True
    put_label(tmp_path, STORED, "refusal", False, "ada")
    assert [label.label for label in read_all(tmp_path)] == [False]
    put_label(tmp_path, STORED, "refusal", None, "ada")
    assert read_all(tmp_path) == []


def test_a_drawn_line_is_filled_in_with_its_probability(tmp_path: Path) -> None:
    drawn = Label(criterion="refusal", model="made/good", case=CASES[2].case, probability=0.25, question="q")
    other = Label(criterion="refusal", model="made/other", case=CASES[2].case, probability=0.5)
    write(tmp_path, drawn, other)
    (asked, *_) = asked_of(STORED, read_all(tmp_path), "ada")
    assert (asked.criterion, asked.wanted, asked.mine) == ("refusal", True, None)
    put_label(tmp_path, STORED, "refusal", True, "ada")
    assert read_labels(tmp_path / "labels.jsonl").said == {UNIT: (True, 0.25)}
    put_label(tmp_path, STORED, "refusal", None, "ada")
    assert sorted(read_all(tmp_path), key=lambda label: label.model) == [drawn, other]


def test_raters_do_not_touch_each_other(tmp_path: Path) -> None:
    put_label(tmp_path, STORED, "refusal", True, "ada")
    put_label(tmp_path, STORED, "refusal", False, "ben")
    put_label(tmp_path, STORED, "refusal", None, "ben")
    (asked, *_) = asked_of(STORED, read_all(tmp_path), "ben")
    assert (asked.mine, asked.others) == (None, [("ada", True)])


def test_a_file_of_something_else_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text('{"notes": 1}\n')
    with pytest.raises(UsageError, match="no label"):
        put_label(tmp_path, STORED, "refusal", True, "ada")
    assert (tmp_path / "labels.jsonl").read_text() == '{"notes": 1}\n'
