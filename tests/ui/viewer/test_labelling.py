from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from ragbed.analysis.judging.judge_run import LabelledUnit
from ragbed.analysis.judging.labels import AgreedLabel, Label, read_labels
from ragbed.errors import RagbedError, UsageError
from ragbed.io.file_lock import lock_file
from ragbed.runs.store import StoredResult
from ragbed.ui.viewer.annotations import asked_of, put_label, read_all
from tests.runs.harness import make_case
from tests.ui.viewer.runs import CASES, said, write_run
from tests.ui.viewer.served import Served, serve_runs

STORED = StoredResult(CASES[2], "made/good", 0, said("I cannot tell."))
UNIT = LabelledUnit("refusal", "made/good", CASES[2].case, 0)


def write(run: Path, *labels: Label) -> None:
    (run / "labels.jsonl").write_bytes(b"".join(msgspec.json.encode(label) + b"\n" for label in labels))


def test_a_label_can_be_given_changed_and_taken_back(tmp_path: Path) -> None:
    put_label(tmp_path, STORED, "refusal", True, "ada")
    assert read_labels(tmp_path / "labels.jsonl").agreed[UNIT].value is True
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
    assert read_labels(tmp_path / "labels.jsonl").agreed == {UNIT: AgreedLabel(True, 0.25, frozenset({"ada"}))}
    put_label(tmp_path, STORED, "refusal", None, "ada")
    assert sorted(read_all(tmp_path), key=lambda label: label.model) == [drawn, other]


@pytest.mark.parametrize("criterion", ["refusal", "code.rej_star"])
def test_a_drawn_response_can_be_labelled_even_if_the_criterion_does_not_apply_by_default(criterion: str) -> None:
    stored = StoredResult(make_case(1), "made/good", 0, said("I cannot tell."))
    assert criterion not in {asked.criterion for asked in asked_of(stored, [], "ada")}
    drawn = Label(criterion=criterion, model="made/good", case=stored.case.case, probability=0.25)
    assert (criterion, True) in {(asked.criterion, asked.wanted) for asked in asked_of(stored, [drawn], "ada")}


def test_all_raters_of_a_drawn_response_have_its_probability(tmp_path: Path) -> None:
    drawn = Label(criterion="refusal", model="made/good", case=CASES[2].case, probability=0.25, question="q")
    write(tmp_path, drawn)
    for rater in ("ada", "ben"):
        put_label(tmp_path, STORED, "refusal", True, rater)
    assert [(label.rater, label.probability) for label in read_all(tmp_path)] == [("ada", 0.25), ("ben", 0.25)]
    put_label(tmp_path, STORED, "refusal", None, "ada")
    assert [(label.rater, label.probability) for label in read_all(tmp_path)] == [("ben", 0.25)]
    put_label(tmp_path, STORED, "refusal", None, "ben")
    assert read_all(tmp_path) == [drawn]


@pytest.mark.parametrize("content", [b'{"notes": 1}\n', b'{"criterion": "\xff"}\n', b'{"case": ' + b"[" * 100_000])
def test_a_file_of_something_else_is_not_overwritten(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "labels.jsonl").write_bytes(content)
    with pytest.raises(UsageError, match="is not a valid label"):
        put_label(tmp_path, STORED, "refusal", True, "ada")
    assert (tmp_path / "labels.jsonl").read_bytes() == content


def test_two_viewers_lose_no_label(tmp_path: Path) -> None:
    cases = [make_case(number) for number in range(40)]
    write_run(tmp_path / "run", cases, {"made/one": [said("It is gold-1.")] * len(cases)})

    def give_labels(served: Served) -> list[int]:
        told = {"run": "run", "model": "made/one", "repeat": 0, "label": True}
        return [
            served.post("/api/label", told | {"case": case.case, "criterion": criterion})
            for case in cases
            for criterion in ("correct", "supported")
        ]

    with serve_runs(tmp_path / "run", rater="ada") as one, serve_runs(tmp_path / "run", rater="ben") as other:
        for served in (one, other):
            served.wait_for(len(cases))
        with ThreadPoolExecutor(2) as pool:
            confirmed = list(pool.map(give_labels, (one, other)))
    assert confirmed == [[200] * 80] * 2
    assert len({(label.rater, label.criterion, label.case) for label in read_all(tmp_path / "run")}) == 160


def test_a_label_is_refused_while_another_process_does_not_finish_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragbed.ui.viewer.annotations._WAIT_S", 0.1)
    told = pytest.raises(RagbedError, match=r"labels\.lock is locked by process")
    with lock_file(tmp_path / "labels.lock"), told:
        put_label(tmp_path, STORED, "refusal", True, "ada")
    put_label(tmp_path, STORED, "refusal", True, "ada")
    assert len(read_all(tmp_path)) == 1


@pytest.mark.parametrize("name", ["labels.jsonl", "labels.lock"])
def test_a_link_in_the_run_folder_is_not_followed(tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").write_bytes(b"")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="is a symbolic link, not a regular file"):
        put_label(tmp_path / "run", STORED, "refusal", True, "ada")
    assert (tmp_path / "elsewhere").read_bytes() == b""
