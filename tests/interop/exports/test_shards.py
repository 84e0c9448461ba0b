"""Exports in shards on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.typed import Done, type_command
from tests.interop.exports.runs import make_run
from tests.io.test_locations import in_memory, serve_folder


def _export(source: object, to: str, output: object, *words: str) -> Done:
    return type_command("export", str(source), "--to", to, "-o", str(output), *words)


def _lines(folder: Path) -> list[bytes]:
    return [line for part in sorted(folder.glob("part-*.jsonl")) for line in part.read_bytes().splitlines()]


def _run(data: object, folder: Path) -> list[dict[str, object]]:
    words = ("-d", f"mini={data}", "--testbeds", "noise,rejection", "--noise", "0.4,1", "--no-cache")
    done = type_command("run", "-m", "scripted/oracle", *words, "--out", str(folder))
    assert done.code == 0, done.err
    assert _export(folder, "jsonl", folder / "trials.jsonl", "--canonical").code == 0
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text("utf-8").splitlines()]


def test_a_run_over_shards_uses_every_item_in_any_location(tmp_path: Path) -> None:
    elsewhere = in_memory()
    for place in (tmp_path / "mini", elsewhere.text):
        done = _export("ragbed-mini-zh_base", "native", place, "--shards", "5")
        assert (done.code, "60 items from ragbed-mini-zh_base written to" in done.err) == (0, True)
    whole, parts = _run("ragbed-mini-zh_base", tmp_path / "whole"), _run(tmp_path / "mini", tmp_path / "parts")
    # Documents depend on the order of the items, which differs in shards.
    assert [trial["case"] for trial in parts] == [trial["case"] for trial in whole]
    with serve_folder(tmp_path) as address:
        for number, place in enumerate((elsewhere.text, f"{address}/mini")):
            assert _run(place, tmp_path / str(number)) == parts


def test_a_remote_file_equals_a_local_one(tmp_path: Path) -> None:
    place = in_memory().text + "/one.jsonl"
    assert _export("ragbed-mini-zh_base", "native", place).code == 0
    assert _run(place, tmp_path / "there") == _run("ragbed-mini-zh_base", tmp_path / "here")


def test_shards_of_a_run_contain_all_lines_and_do_not_split_questions(tmp_path: Path) -> None:
    words = ("-d", "ragbed-mini-en_base", "--testbeds", "noise", "--no-cache", "--out", str(tmp_path / "run"))
    assert type_command("run", "-m", "scripted/oracle", *words).code == 0
    assert _export(tmp_path / "run", "jsonl", tmp_path / "file", "--canonical").code == 0
    done = _export(tmp_path / "run", "jsonl", tmp_path / "parts", "--canonical", "--shards", "3", "--json")
    assert json.loads(done.out)["trials"] == 300
    assert sorted(_lines(tmp_path / "parts")) == sorted((tmp_path / "file").read_bytes().splitlines())
    parts = [part.read_bytes().splitlines() for part in sorted((tmp_path / "parts").glob("part-*"))]
    items = [{json.loads(line)["item"] for line in part} for part in parts]
    assert sum(map(len, items)) == len(set.union(*items)) == 60
    done = type_command("run", "-m", "scripted/oracle", "-d", str(tmp_path / "parts"), "--no-cache")
    assert (done.code, "contains trials, not items" in done.err) == (2, True)


def test_cases_are_written_in_shards(tmp_path: Path) -> None:
    words = ("--testbeds", "rejection", "--limit", "7")
    assert _export("ragbed-mini-en_base", "jsonl", tmp_path / "cases", "--shards", "2", *words).code == 0
    assert len(_lines(tmp_path / "cases")) == 7


@pytest.mark.parametrize(("to", "words"), [("rgb", ("--shards", "2")), ("inspect", ("--shards", "2")), ("hf", ())])
def test_formats_that_cannot_be_sharded_or_remote_are_refused(to: str, words: tuple[str, ...]) -> None:
    done = _export("ragbed-mini-en_base", to, in_memory().text, *words)
    told = (
        "cannot be split into parts"
        if words
        else "writes several files, which cannot be written to a URL. Write them to a local folder"
    )
    assert (done.code, told in done.err) == (2, True)


def test_a_failed_trial_is_in_its_shard(tmp_path: Path) -> None:
    done = _export(make_run(tmp_path / "run"), "jsonl", tmp_path / "parts", "--shards", "2")
    assert (done.code, "Trials without a response: 1. They were exported with their outcome" in done.err) == (0, True)
    assert sorted(json.loads(line)["outcome"] for line in _lines(tmp_path / "parts")) == ["error", "ok", "ok"]


def test_the_steps_of_a_build_are_written_in_shards(tmp_path: Path) -> None:
    lines = [json.dumps({"id": f"page-{number}", "text": "…"}) for number in range(40)]
    (tmp_path / "pages.jsonl").write_text("\n".join([*lines, '{"outcome": "no id"}']))
    assert _export(tmp_path / "pages.jsonl", "records", tmp_path / "parts", "--shards", "3").code == 0
    written = _lines(tmp_path / "parts")
    assert sorted(line.decode() for line in written) == sorted([*lines, '{"outcome": "no id"}'])
    assert json.loads((tmp_path / "parts" / "shards.json").read_text("utf-8"))["what"] == "records"
    done = _export(tmp_path / "pages.jsonl", "records", tmp_path / "one")
    assert (done.code, "--shards N" in done.err) == (2, True)
