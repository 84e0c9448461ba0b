"""`ragbed lint`, typed as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragbed.api.datasets import lint
from ragbed.api.progress import Progress
from tests.cli.typed import type_command

BAD = {"id": 1, "query": "Who won?", "answer": "Ann Lee", "positive": ["Ann Lee"], "negative": ["Ann Lee"]}
BROKEN = {"id": 3, "query": "Who won?", "answer": 5, "positive": [], "negative": []}
CLEAN = {
    "id": 2,
    "query": "Who lost?",
    "answer": [["Bo Raymond", "B. Raymond"]],
    "positive": [f"Bo Raymond came last in race {'abcde'[n] * 9}." for n in range(5)],
    "negative": [f"Nobody knows who came last in {'vwxyz'[n] * 40}." for n in range(5)],
}


def _write(path: Path, *records: object) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return str(path)


def test_a_clean_dataset_exits_0(tmp_path: Path) -> None:
    done = type_command("lint", _write(tmp_path / "made.json", CLEAN))
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1].startswith("0 errors, 0 warnings. No problems found.")


def test_warnings_alone_exit_0(tmp_path: Path) -> None:
    done = type_command("lint", _write(tmp_path / "made.json", CLEAN | {"positive": ["Nobody."]}))
    assert done.code == 0
    assert "positive-without-gold" in done.out
    assert "Check the warnings" in done.out.splitlines()[-1]


def test_only_the_first_few_of_a_rule_are_shown_unless_it_is_named(tmp_path: Path) -> None:
    path = _write(tmp_path / "made.json", *(BAD | {"id": number} for number in range(20)))
    few = type_command("lint", path)
    every = type_command("lint", path, "--only", "cross-label-duplicate")
    assert few.out.count("is almost the same as positive[0]") == 6  # three findings of each of two rules
    assert "… and 17 more" in few.out
    assert every.out.count("is almost the same as positive[0]") == 20
    assert "more" not in every.out
    assert few.out.splitlines()[-1].endswith("To list all findings of a rule, use --only RULE.")
    assert every.out.splitlines()[-1].endswith("Check the warnings: they may make scores wrong.")


def test_only_record_validates(tmp_path: Path) -> None:
    good = type_command("lint", _write(tmp_path / "good.json", BAD), "--only", "record")
    assert (good.code, good.out.splitlines()[-1]) == (0, "0 errors, 0 warnings. All records are valid.")
    bad = type_command("lint", _write(tmp_path / "bad.json", BAD, {"id": 2}, BAD), "--only", "record")
    assert bad.code == 1
    assert "line 2, query: is missing" in bad.out
    assert "line 3, id: '1' already appears on an earlier line" in bad.out


def test_several_datasets_are_reported_one_by_one(tmp_path: Path) -> None:
    done = type_command("lint", *[_write(tmp_path / f"{name}.json", CLEAN) for name in ("one", "two")])
    assert done.out.index("one: 1 item, 10 documents") < done.out.index("two: 1 item, 10 documents")
    assert "item 2, line 1, query: is also the question of one, item 2" in done.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--skip", "record"), "cannot be skipped"),
        (("--only", "near-duplicate,,edge-mark"), "contains an empty value"),
    ],
)
def test_wrong_usage_exits_2_with_what_is_allowed(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = type_command("lint", _write(tmp_path / "made.json", CLEAN), *words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_a_broken_file_exits_1(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_bytes(b"\xff\xfe{\x00")
    done = type_command("lint", str(tmp_path / "broken.json"))
    assert done.code == 1
    assert "is encoded as UTF-16" in done.out


def test_nothing_from_the_data_reaches_the_terminal_raw(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\u202e[red]"
    record = BAD | {"id": evil, "query": evil, "answer": [evil], "negative": [evil], "positive": [evil], evil: 1}
    for path in (
        _write(tmp_path / "evil.json", {key: value for key, value in record.items() if key != evil}),
        _write(tmp_path / "wrong.json", record),
    ):
        done = type_command("lint", path)
        assert not {"\x1b", "\x07", "\u202e"} & set(done.out + done.err)
        assert "[red]" in done.out


def test_a_long_check_reports_its_progress(tmp_path: Path) -> None:
    path = tmp_path / "made.json"
    path.write_text("".join(json.dumps({**CLEAN, "id": number}) + "\n" for number in range(4)))
    seen: list[tuple[str, int, int | None]] = []

    class Seen(Progress):
        def count(self, task: str, done: int, total: int | None = None) -> None:
            seen.append((task, done, total))

    lint(path, only="record", progress=Seen())
    assert seen == [("made: items", done, 4) for done in range(4)]
