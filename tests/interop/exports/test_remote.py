"""Exports to URLs, and runs on them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.typed import Done, type_command
from tests.io.test_locations import in_memory, serve_folder


def _export(source: object, to: str, output: object, *words: str) -> Done:
    return type_command("export", str(source), "--to", to, "-o", str(output), *words)


def _run(data: object, folder: Path) -> list[dict[str, object]]:
    words = ("-d", f"mini={data}", "--testbeds", "noise,rejection", "--noise", "0.4,1", "--cache", "off")
    done = type_command("run", "-m", "scripted/oracle", *words, "--out", str(folder))
    assert done.code == 0, done.err
    assert _export(folder, "jsonl", folder / "trials.jsonl", "--canonical").code == 0
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text("utf-8").splitlines()]


def test_a_remote_file_equals_a_local_one(tmp_path: Path) -> None:
    place = in_memory("one.jsonl").text
    assert _export("ragbed-mini-zh_base", "native", place).code == 0
    assert _export("ragbed-mini-zh_base", "native", tmp_path / "two.jsonl").code == 0
    expected = _run("ragbed-mini-zh_base", tmp_path / "here")
    assert _run(place, tmp_path / "there") == expected
    with serve_folder(tmp_path) as address:
        assert _run(f"{address}/two.jsonl", tmp_path / "served") == expected


def test_a_format_with_several_files_is_not_written_to_a_url() -> None:
    done = _export("ragbed-mini-en_base", "inspect", in_memory().text)
    told = "writes several files, which cannot be written to a URL. Write them to a local folder"
    assert (done.code, told in done.err) == (2, True)
