"""`ragbed diagnose`, typed as a user types it, against a model at the wire that believes what it reads first."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ragbed.schema import Item, Passage
from tests.cli.typed import type_command
from tests.servers.function_model import ModelRequest, function_model

_MODEL = "openai-api/reader/first"
_ITEMS = 6


def _name_first_winner(request: ModelRequest) -> str:
    found = re.search(r"(\w+ \w+) won the", request.turns[-1])
    return found[1] if found else "I do not know."


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "cups.jsonl"
    items = [
        Item(
            id=str(number),
            question=f"Who won the Aster Cup in {2010 + number}?",
            lang="en",
            answer=((f"Ada Merton{number}",),),
            passages=(
                Passage(text=f"Ada Merton{number} won the Aster Cup in {2010 + number}.", stance="supports"),
                Passage(text=f"Bo Karlin{number} won the Aster Cup in {1990 + number}.", stance="distracts"),
            ),
        )
        for number in range(_ITEMS)
    ]
    path.write_bytes(b"".join(msgspec.json.encode(item) + b"\n" for item in items))
    return path


@pytest.fixture
def run(tmp_path: Path, data: Path) -> Path:
    """A run in which half the replies are wrong: those to cases with the distracting document first."""
    folder = tmp_path / "run"
    words = ("-m", _MODEL, "-d", str(data), "--num-docs", "2", "--noise", "0.5", "--out", str(folder), "--cache", "off")
    with function_model(_name_first_winner) as url:
        done = type_command("run", *words, env={"READER_BASE_URL": url})
    assert done.code == 0, done.err
    return folder


def _lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "diagnose" / "diagnosis.jsonl").read_text("utf-8").splitlines()]


def test_every_wrong_reply_is_written_with_type_evidence_and_source(run: Path) -> None:
    done = type_command("diagnose", str(run))
    assert done.code == 0, done.err
    lines = _lines(run)
    assert len(lines) == _ITEMS // 2
    for line in lines:
        assert {"case", "repeat", "model", "types", "evidence", "source"} <= line.keys()
        assert (line["types"], line["source"], line["model"]) == (["E3"], "distracts", _MODEL)
        (evidence,) = line["evidence"]
        assert evidence["sentence"].startswith("Bo Karlin")
        asked, found = evidence["cue"].split(" → ")
        assert int(asked) - int(found) == 20
    assert "concept confusion" in done.out
    assert "unclassified" in done.out
    assert "6 trials with documents: 3 right and 3 wrong" in done.err
    assert "Not diagnosed: 6 trials without documents, gold answers or verdicts, or with strategies." in done.err


def test_a_run_without_documents_cannot_be_diagnosed(tmp_path: Path, data: Path) -> None:
    alone = tmp_path / "alone"
    type_command("run", "-m", "scripted/memory", "-d", str(data), "--testbeds", "closed-book", "--out", str(alone))
    done = type_command("diagnose", str(alone))
    assert (done.code, "has no trials with documents" in done.err) == (2, True)


def test_a_run_without_closed_book_says_what_cannot_be_told(tmp_path: Path, data: Path) -> None:
    folder = tmp_path / "bare"
    words = ("-d", str(data), "--testbeds", "noise", "--num-docs", "2", "--noise", "0.5", "--out", str(folder))
    type_command("run", "-m", "scripted/refuser", *words)
    done = type_command("diagnose", str(folder))
    assert "There are no closed-book trials, so E8 and answers from memory cannot be detected" in done.err
    assert "false refusal" in done.out


def test_imported_replies_are_diagnosed(tmp_path: Path, data: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        "".join(json.dumps({"item": str(n), "noise": 0.5, "reply": f"Bo Karlin{n}"}) + "\n" for n in range(4))
    )
    folder = tmp_path / "imported"
    words = ("--from", "jsonl", "-d", str(data), "--num-docs", "2", "--noise", "0.5", "--testbeds", "noise")
    imported = type_command("import", str(answers), *words, "-m", "elsewhere", "--out", str(folder))
    assert (folder / "run.sqlite").is_file(), imported.err
    assert type_command("diagnose", str(folder)).code == 0
    assert sorted(line["types"][0] for line in _lines(folder)) == ["E11", "E11", "E3", "E3", "E3", "E3"]
