"""`ragbed synth`, typed as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.typed import type_command

_FEW = ("--items", "6", "--num-docs", "4", "--tokens", "80")


@pytest.mark.parametrize(
    ("perturbations", "parts", "docs"), [("mix", "3", "5"), ("none", "3", "5"), ("sibling,outdated", "5", "10")]
)
def test_lint_finds_nothing_in_it_and_all_cases_can_be_laid_out(
    tmp_path: Path, perturbations: str, parts: str, docs: str
) -> None:
    assert (
        type_command(
            "synth", "--items", "30", "--perturbations", perturbations, "--parts", parts, "-o", str(tmp_path)
        ).code
        == 0
    )
    paths = [str(path) for path in sorted(tmp_path.glob("*.jsonl"))]
    assert json.loads(type_command("lint", *paths, "--json").out)["findings"] == {"error": 0, "warning": 0}
    laid = json.loads(type_command("export", *paths, "--to", "jsonl", "--num-docs", docs, "--json").out)
    assert "infeasible" not in laid


def test_named_perturbations_come_in_pairs(tmp_path: Path) -> None:
    options = ("--lang", "en", "--perturbations", "sibling,hedge", "--integration", "0", "--counterfactual", "0")
    assert type_command("synth", *_FEW, *options, "-o", str(tmp_path)).code == 0
    lines = [json.loads(line) for line in (tmp_path / "en_base.jsonl").read_text("utf-8").splitlines()]
    assert [(line.get("dial"), line.get("twin")) for line in lines[:4]] == [
        *((None, None), ("sibling", "en-base-0"), (None, None), ("hedge", "en-base-2"))
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--items", "-1"), "--items -1 is out of range. Use an integer of at least 0."),
        (("--items", "0"), "nothing to write"),
        (("--num-docs", "300"), "--num-docs 300 is out of range. Use an integer from 2 to 200"),
        (
            ("--perturbations", "none,sibling"),
            "--perturbations none,sibling: none cannot be combined with other perturbations.",
        ),
        (("--parts", "6"), "--parts 6 is out of range. Use an integer from 2 to 5."),
        (("--workers", "0"), "--workers 0 is out of range. Use an integer of at least 1."),
    ],
)
def test_wrong_usage_is_said_in_a_line_and_writes_nothing(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    done = type_command("synth", *options, "-o", str(tmp_path / "world"))
    assert done.code == 2
    assert words in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "world").exists()


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "world").write_text("in the way", "utf-8")
    done = type_command("synth", *_FEW, "-o", str(tmp_path / "world"))
    assert (done.code, "cannot be written" in done.err) == (1, True)


def test_a_killed_command_leaves_no_dataset(tmp_path: Path) -> None:
    words = ("synth", "--lang", "en", "--items", "40", "--tokens", "80", "--counterfactual", "0", "-o", str(tmp_path))
    command = [sys.executable, "-m", "ragbed", *words, "--integration", "1000000", "--workers", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as made:
        deadline = time.monotonic() + 60
        while not any(part.stat().st_size for part in tmp_path.glob(".en_int.jsonl.*.part")):  # the base items are done
            assert time.monotonic() < deadline
            assert made.poll() is None, made.communicate()
            time.sleep(0.05)
        made.kill()
    assert list(tmp_path.glob("[!.]*")) == []
    assert type_command(*words, "--integration", "2").code == 0
    assert sorted(path.name for path in tmp_path.glob("[!.]*")) == ["en_base.jsonl", "en_int.jsonl", "manifest.json"]


def test_a_disk_that_is_full_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    command = f"ulimit -f 40; exec {sys.executable} -m ragbed synth --items 200 --lang en -o {tmp_path / 'world'}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, "cannot be written" in done.stderr) == (1, True), done.stderr
    assert list((tmp_path / "world").iterdir()) == []


def test_the_same_dataset_is_written_again_and_another_is_not_overwritten(tmp_path: Path) -> None:
    words = ("synth", *_FEW, "--lang", "en", "-o", str(tmp_path))
    assert type_command(*words, "--seed", "7").code == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert type_command(*words, "--seed", "7").code == 0
    for options in (("--seed", "8"), ("--seed", "7", "--integration", "1")):
        done = type_command(*words, *options)
        assert (done.code, "en_base.jsonl, which was not generated with these options" in done.err) == (2, True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_dataset_in_another_language_does_not_replace_the_manifest(tmp_path: Path) -> None:
    assert type_command("synth", *_FEW, "--lang", "en", "-o", str(tmp_path)).code == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = type_command("synth", *_FEW, "--lang", "zh", "-o", str(tmp_path))
    assert (done.code, done.err) == (
        2,
        f"ragbed: {tmp_path} already contains en_base.jsonl, which was not generated with these options. Choose "
        "another output folder with -o, or delete the file.\n",
    )
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    for path in tmp_path.glob("*.jsonl"):
        path.unlink()
    assert type_command("synth", *_FEW, "--lang", "zh", "-o", str(tmp_path)).code == 0


def test_other_files_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "en_base.jsonl").write_text("mine\n")
    (tmp_path / "notes.txt").write_text("mine too\n")
    done = type_command("synth", *_FEW, "-o", str(tmp_path))
    assert (done.code, "already contains en_base.jsonl" in done.err) == (2, True)
    assert (tmp_path / "en_base.jsonl").read_text("utf-8") == "mine\n"
    (tmp_path / "en_base.jsonl").unlink()
    assert type_command("synth", *_FEW, "-o", str(tmp_path)).code == 0  # what is not in the way stays
