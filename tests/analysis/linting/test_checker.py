"""Checks of files: invalid lines, counts, and agreement with the testbeds about infeasible mixes."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ragbed.analysis.linting import RULES, DatasetCheck, choose_rules
from ragbed.analysis.linting.rules import Questions
from ragbed.data import Dataset, is_same_answer, native
from ragbed.errors import RagbedError
from tests.analysis.linting.records import check_file

GOOD = '{"id":%d,"query":"Who won?","answer":"Ann Lee","positive":["Ann Lee"],"negative":["Bo"]}'


def _write(path: Path, *lines: str | bytes) -> Path:
    path.write_bytes(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines) + b"\n")
    return path


def test_reading_continues_after_an_invalid_line(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "data.json",
        '{"id":1,',
        GOOD % 2,
        GOOD % 2,
        "[]",
        "",
        GOOD.replace("Who", "\\ud800") % 3,
        '{"id":4,"query":"?","answer":5,"positive":[],"negative":[]}',
        b'{"id":5,"query":"\xff"}',
        GOOD % 6,
    )
    findings, check = check_file(path)
    assert [(finding.line, finding.where) for finding in findings] == [
        *((1, ""), (3, "id"), (4, ""), (6, ""), (7, "answer"), (8, "")),
    ]
    assert {(finding.rule, finding.severity, finding.item) for finding in findings} == {("record", "error", None)}
    assert (check.items, check.documents, check.counts[0].items) == (2, 4, 6)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        ('{"id": 1}'.encode("utf-16"), "is encoded as UTF-16"),
        (
            b'{"id": 1, "text": "?"}',
            "unknown record format; expected the field 'question' (native) or 'query' (rgb), but found id",
        ),
        (b'{"query":"\\ud800"}', "each line must be one JSON object"),
        (b"[" * 100_000, "expected `object`, got `array`"),
    ],
)
def test_a_file_that_is_not_a_dataset_gives_one_finding(content: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_bytes(content)
    (finding,), _ = check_file(path)
    assert finding.line == 1
    assert problem in finding.message


def test_a_missing_file_is_an_error_not_a_finding(tmp_path: Path) -> None:
    with pytest.raises(RagbedError, match="no such file"):
        check_file(tmp_path / "none.json")


def test_items_and_documents_are_counted_separately(tmp_path: Path) -> None:
    zh = '{"id":%d,"query":"谁赢了？","answer":"安李","positive":["安李"],"negative":%s}'
    path = _write(tmp_path / "data.json", zh % (1, '["安李","安 李"]'), zh % (2, '["安 李"]'), zh % (3, '["无"]'))
    _, check = check_file(path, "gold-in-negative")
    assert [count.values() for count in check.counts] == [
        {"rule": "gold-in-negative", "severity": "warning", "items": 2, "documents": 3, "findings": 3}
    ]


def test_places_use_the_field_names_of_the_file(tmp_path: Path) -> None:
    bad = GOOD.replace('"Bo"', '"Ann Lee"')
    spelled = []
    for convert in (lambda path: path.read_bytes(), lambda path: native.to_line(next(Dataset("d", path).items()))):
        path = _write(tmp_path / "data.json", convert(_write(tmp_path / "data.json", bad % 1)).strip())
        findings, _ = check_file(path, "gold-in-negative")
        spelled += [finding.where for finding in findings]
    assert spelled == ["negative[0]", "passages[1]"]


def test_questions_are_compared_across_datasets(tmp_path: Path) -> None:
    questions: Questions = {}
    found = []
    for name in ("a", "b"):
        path = _write(tmp_path / f"{name}.json", GOOD % 1)
        check = DatasetCheck(Dataset(name, path), [RULES["duplicate-question"]], questions=questions)
        found += list(check.findings())
    assert [(finding.data, finding.message) for finding in found] == [("b", "is also the question of a, item 1")]


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(["安 李", "70%", "é", "\0"])
_ANSWERS = st.lists(st.lists(_TEXTS.filter(str.strip), min_size=1, max_size=3), min_size=1, max_size=3)


@settings(deadline=None)  # the machine may be busy
@given(
    question=_TEXTS.filter(str.strip),
    answer=_ANSWERS,
    fake=st.none() | _ANSWERS,
    lang=st.sampled_from(["en", "zh"]),
    stances=st.lists(st.tuples(st.sampled_from(["supports", "distracts", "contradicts"]), _TEXTS), max_size=8),
    parts=st.booleans(),
)
def test_no_valid_item_makes_a_rule_fail(
    question: str,
    answer: list[list[str]],
    fake: list[list[str]] | None,
    lang: str,
    stances: list[tuple[str, str]],
    parts: bool,
) -> None:
    turn = cycle((0, 1))
    passages = [
        {"text": text, "stance": stance} | ({"part": next(turn)} if parts and stance == "supports" else {})
        for stance, text in stances
        if stance != "contradicts" or fake is not None
    ]
    line = {"id": "1", "question": question, "lang": lang, "answer": answer, "passages": passages}
    assume(fake is None or not is_same_answer(tuple(map(tuple, fake)), tuple(map(tuple, answer))))
    with NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(json.dumps(line | ({} if fake is None else {"fake": fake})).encode() + b"\n")
        file.flush()
        check = DatasetCheck(Dataset("made", Path(file.name)), list(RULES.values()))
        check.run(None)
        assert "record" not in check.kept
        assert len(check.values()["findings"]) == sum(count.findings for count in check.counts)


def test_long_runs_of_spaces_are_fast(tmp_path: Path) -> None:
    spaces = " " * 50_000
    record = json.loads(GOOD % 1)
    record |= {"answer": f"a{spaces}b", "positive": [f"问题{spaces}a{spaces}b"], "query": f"a{spaces}1"}
    _, check = check_file(_write(tmp_path / "data.json", json.dumps(record)), *RULES)
    assert check.items == 1


def test_rules_are_chosen_by_name() -> None:
    assert choose_rules() == list(RULES.values())
    assert [rule.name for rule in choose_rules(["edge-mark", "record"])] == ["record", "edge-mark"]
    assert len(choose_rules(None, ["edge-mark", "short-gold"])) == len(RULES) - 2
