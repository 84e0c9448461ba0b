"""Frozen testbeds: round trip and detection of changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragbed.errors import DataError
from ragbed.interop.exports.frozen import condition_of, read_frozen, read_part
from tests.cli.typed import type_command


@pytest.fixture
def testbed(tmp_path: Path) -> Path:
    data = ("ragbed-mini-en_base", "ragbed-mini-zh_base", "ragbed-mini-zh_int")
    done = type_command("export", *data, "--to", "lm-eval", "-o", str(tmp_path / "my-bed"), "--limit", "2")
    assert done.code == 0
    return tmp_path / "my-bed"


def test_every_language_and_testbed_is_a_part(testbed: Path) -> None:
    parts = {part.name: part for part in read_frozen(testbed).parts}
    assert {name: part.cases for name, part in parts.items()} == {
        **{f"en_{name}": count for name, count in (("noise", 10), ("rejection", 2), ("closed_book", 2))},
        **{f"zh_{name}": count for name, count in (("noise", 10), ("rejection", 2), ("closed_book", 4))},
        "zh_integration": 6,
    }
    assert parts["zh_integration"].conditions == ("noise=0", "noise=0.2", "noise=0.4")
    assert parts["en_rejection"].conditions == ("",)
    for part in parts.values():
        cases = list(read_part(testbed, part))
        assert len(cases) == part.cases
        assert {condition_of(case, part) for case in cases} == set(part.conditions)


def test_the_same_settings_give_the_same_bytes(testbed: Path, tmp_path: Path) -> None:
    data = ("ragbed-mini-en_base", "ragbed-mini-zh_base", "ragbed-mini-zh_int")
    type_command("export", *data, "--to", "inspect", "-o", str(tmp_path / "again"), "--limit", "2")
    assert (tmp_path / "again" / "testbed.json").read_bytes() == (testbed / "testbed.json").read_bytes()


def test_changed_cases_are_detected(testbed: Path) -> None:
    path = testbed / "cases" / "en_noise.jsonl"
    path.write_text(path.read_text("utf-8").replace("accurate", "careless", 1))
    (part,) = (part for part in read_frozen(testbed).parts if part.name == "en_noise")
    with pytest.raises(DataError, match=r"en_noise.jsonl does not match its SHA-256 checksum in testbed.json"):
        list(read_part(testbed, part))


def test_answers_to_a_frozen_testbed_are_imported_without_layout_options(testbed: Path, tmp_path: Path) -> None:
    (part,) = (part for part in read_frozen(testbed).parts if part.name == "zh_noise")
    cases = list(read_part(testbed, part))
    answers = tmp_path / "answers.jsonl"
    lines = [{"case": case.case, "reply": case.answer[0][0]} for case in cases[:9]]
    lines += [lines[0], {"case": "elsewhere/1/noise@k=5", "reply": "x"}]
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ("-d", str(testbed), "-m", "mine/rag", "--out", str(tmp_path / "run"))
    done = type_command(
        "import", str(answers), "--from", "jsonl", *words, "--testbeds", "noise", "--lang", "zh", "--json"
    )
    told = json.loads(done.out)
    assert (done.code, told["planned"], told["matched"], told["missing"]) == (3, 10, 9, 1)
    assert [problem.split(":")[1] for problem in told["problems"]] == ["10", "11"]
    done = type_command("import", str(answers), "--from", "jsonl", *words, "--testbeds", "conflict")
    assert "contains no cases for the requested testbeds and languages. Available parts: en_noise" in done.err
