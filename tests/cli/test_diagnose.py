"""`ragbed diagnose`, typed as a user types it, against a model at the wire that believes what it reads first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ragbed.runs.store import NOTE, open_store
from ragbed.schema import Item, Passage
from tests.cli.typed import Done, type_command
from tests.servers.function_model import ModelRequest, function_model

_MODEL = "openai-api/reader/first"
_ITEMS = 6


class Reader:
    """Answers with the winner that the first document names, and knows nothing by itself."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.paths: set[str] = set()
        self.temperatures: list[float | None] = []
        self.fails_on: str | None = None
        self.env: dict[str, str] = {}

    def respond(self, request: ModelRequest) -> str | tuple[int, object]:
        prompt = request.turns[-1]
        if self.fails_on and self.fails_on in prompt:
            return 400, {"error": {"message": "no such thing"}}
        self.asked.append(prompt)
        self.paths.add(request.path)
        self.temperatures.append(request.body.get("temperature"))
        found = re.search(r"(\w+ \w+) won the", prompt)
        return found[1] if found else "I do not know."


@pytest.fixture
def reader() -> Iterator[Reader]:
    reader = Reader()
    with function_model(reader.respond) as url:
        reader.env = {"READER_BASE_URL": url}
        yield reader


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
def run(tmp_path: Path, data: Path, reader: Reader) -> Path:
    """A run in which half the replies are wrong: those to cases with the distracting document first."""
    folder = tmp_path / "run"
    words = ("-m", _MODEL, "-d", str(data), "--num-docs", "2", "--noise", "0.5", "--out", str(folder), "--no-cache")
    done = type_command("run", *words, env=reader.env)
    assert done.code == 0, done.err
    return folder


def _lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "diagnose" / "diagnosis.jsonl").read_text("utf-8").splitlines()]


def _summary(done: Done) -> dict[str, Any]:
    assert done.code == 0, done.err
    summary: dict[str, Any] = json.loads(done.out.splitlines()[-1])
    return summary


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
        assert int(evidence["asked"]) - int(evidence["found"]) == 20
    assert "concept confusion" in done.out
    assert "unclassified" in done.out
    assert "6 trials with documents: 3 right, 3 wrong" in done.err
    assert "6 closed-book trials used only for comparison and not diagnosed." in done.err


def test_errors_of_a_type_are_shown_with_their_evidence(run: Path) -> None:
    done = type_command("diagnose", str(run), "--show", "E3")
    assert "is about something else" in done.out
    assert "Showing 3 of 3 errors of type E3." in done.err
    assert (
        "Showing 0 of 0 errors of type unclassified."
        in type_command("diagnose", str(run), "--show", "unclassified").err
    )


def test_asking_again_without_the_cause_confirms_it(run: Path, reader: Reader) -> None:
    before = len(reader.asked)
    summary = _summary(type_command("diagnose", str(run), "--intervene", "--no-cache", "--json", env=reader.env))
    assert len(reader.asked) == before + 3
    assert [(one["type"], one["confirmed"], one["asked"]) for one in summary["confirmations"]] == [("E3", 3, 3)]
    assert all(line["evidence"][0]["confirmed"] for line in _lines(run))
    # What was told is kept: nobody is asked twice, and a later look without the option has it too.
    type_command("diagnose", str(run), "--intervene", "--no-cache", env=reader.env)
    assert len(reader.asked) == before + 3
    assert "3 of 3" in type_command("diagnose", str(run)).out


def test_models_are_called_again_with_the_runs_preset(tmp_path: Path, data: Path, reader: Reader) -> None:
    folder, preset = tmp_path / "run", ("--preset", "vicuna-7b-v1.3")
    words = ("-m", _MODEL, "-d", str(data), "--num-docs", "2", "--noise", "0.5", "--out", str(folder), "--no-cache")
    assert type_command("run", *words, *preset, env=reader.env).code == 0
    before = len(reader.asked)
    assert type_command("diagnose", str(folder), "--intervene", "--no-cache", env=reader.env).code == 0
    assert len(reader.asked) > before
    assert reader.paths == {"/v1/completions"}  # no chat completions, which have another prompt format


def test_models_are_called_again_at_the_chosen_temperature(run: Path, reader: Reader) -> None:
    before = len(reader.asked)
    words = ("diagnose", str(run), "--intervene", "--no-cache")
    for _ in range(2):
        assert type_command(*words, "--temperature", "none", env=reader.env).code == 0
    assert reader.temperatures == [0] * before + [None] * 3
    done = type_command(*words, env=reader.env)
    assert done.code == 2
    assert "was created with --temperature none, but this call uses --temperature 0.0" in done.err.replace("\n", " ")
    assert type_command("diagnose", str(run), "--knock-out", "--no-cache", env=reader.env).code == 0
    assert set(reader.temperatures[before + 3 :]) == {0}


@pytest.mark.parametrize(
    "option",
    [
        ("--reasoning-effort", "low"),
        ("--extra-body", '{"top_k": 3}'),
        ("--seed-model", "7"),
        ("--temperature", "0.5"),
    ],
    ids=lambda option: option[0],
)
def test_models_are_not_called_again_with_other_request_options(
    option: tuple[str, str], run: Path, reader: Reader
) -> None:
    words, before = ("diagnose", str(run), "--intervene", "--no-cache"), len(reader.asked)
    for _ in range(2):
        assert type_command(*words, *option, env=reader.env).code == 0
    done = type_command(*words, env=reader.env)
    assert (done.code, len(reader.asked)) == (2, before + 3)
    assert f"was created with {option[0]}" in done.err.replace("\n", " ")


def test_an_option_for_requests_has_no_effect_without_reruns(run: Path, reader: Reader) -> None:
    done = type_command("diagnose", str(run), "--temperature", "0.5")
    assert done.code == 2
    assert "--temperature has no effect here: models are called only with --intervene or --knock-out." in done.err
    assert type_command("diagnose", str(run), env={"RAGBED_TEMPERATURE": "0.5"}).code == 0


def test_a_run_with_a_field_that_is_no_longer_allowed_is_diagnosed(run: Path, reader: Reader) -> None:
    with open_store(run, create=True) as store, store.transaction() as connection:
        connection.execute(NOTE, ("set.extra_body", '{"stream":false}'))
    done = type_command("diagnose", str(run), "--intervene", "--no-cache", env=reader.env)
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("stored", "option"),
    [
        (("extra_body", '{"reasoning":{"enabled":true}}'), ("--reasoning-effort", "low")),
        (("extra_body", '{"enable_thinking":true}'), ("--thinking", "off")),
        (("reasoning_effort", "low"), ("--extra-body", '{"reasoning": {"enabled": true}}')),
        (("reasoning_effort", "low"), ("--thinking", "off")),
    ],
    ids=["effort", "thinking", "body", "off"],
)
def test_a_request_option_that_contradicts_the_run_is_refused(
    stored: tuple[str, str], option: tuple[str, str], run: Path, reader: Reader
) -> None:
    with open_store(run, create=True) as store, store.transaction() as connection:
        connection.execute(NOTE, (f"set.{stored[0]}", stored[1]))
    words, before = ("diagnose", str(run), "--intervene", "--no-cache"), len(reader.asked)
    done = type_command(*words, *option, env=reader.env)
    assert (done.code, len(reader.asked)) == (2, before)
    assert f"and one of them is set by the run. Omit {option[0]}." in " ".join(done.err.split())
    assert type_command(*words, env=reader.env).code == 0


def test_a_rejected_rerun_gets_the_fix(tmp_path: Path, data: Path, reader: Reader) -> None:
    folder = tmp_path / "run"
    words = ("-m", _MODEL, "-d", str(data), "--num-docs", "2", "--noise", "0.5", "--limit", "2", "--testbeds", "noise")
    assert type_command("run", *words, "--out", str(folder), "--no-cache", env=reader.env).code == 0
    reader.fails_on = "won"
    done = type_command("diagnose", str(folder), "--intervene", "--no-cache", env=reader.env)
    assert done.code == 3
    assert "The server rejects every request, so the same command would fail again. Check the key" in done.err
    assert "`" not in done.err
    assert "ame command to retry" not in done.err


def test_leaving_documents_out_tells_which_one_the_answer_hangs_on(run: Path, reader: Reader) -> None:
    done = type_command("diagnose", str(run), "--knock-out", "--no-cache", "--json", env=reader.env)
    assert _summary(done)["hang_on"] == {"tried": 3, "one": 3, "several": 0, "none": 0}
    assert all(line["hangs_on"] == [line["document"]] for line in _lines(run))


def test_calls_that_fail_are_counted_and_asked_again(run: Path, reader: Reader) -> None:
    type_command("diagnose", str(run))
    reader.fails_on = f"Who won the Aster Cup in {_lines(run)[0]['evidence'][0]['asked']}?"
    done = type_command("diagnose", str(run), "--intervene", "--no-cache", env=reader.env)
    assert done.code == 3
    assert "Incomplete: 1 call ended in an error" in done.err
    assert [one["evidence"][0].get("confirmed") for one in _lines(run)] == [None, True, True]
    reader.fails_on = None
    assert "3 of 3" in type_command("diagnose", str(run), "--intervene", "--no-cache", env=reader.env).out


def test_what_cannot_be_diagnosed_is_named(tmp_path: Path, data: Path, run: Path) -> None:
    unknown = type_command("diagnose", str(run), "--show", "E99")
    assert (unknown.code, "unknown error type 'E99'" in unknown.err) == (2, True)
    alone = tmp_path / "alone"
    type_command("run", "-m", "scripted/memory", "-d", str(data), "--testbeds", "closed-book", "--out", str(alone))
    done = type_command("diagnose", str(alone))
    assert (done.code, "only trials without documents" in done.err) == (2, True)
    nowhere = type_command("diagnose", str(tmp_path / "nowhere"))
    assert nowhere.code in (1, 2)


def test_a_run_without_closed_book_says_what_cannot_be_told(tmp_path: Path, data: Path) -> None:
    folder = tmp_path / "bare"
    words = ("-d", str(data), "--testbeds", "noise", "--num-docs", "2", "--noise", "0.5", "--out", str(folder))
    type_command("run", "-m", "scripted/refuser", *words)
    done = type_command("diagnose", str(folder))
    assert "There are no closed-book trials, so E9 and answers from memory cannot be detected" in done.err
    assert "false refusal" in done.out


def test_imported_replies_are_diagnosed_but_nobody_can_be_asked_again(tmp_path: Path, data: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        "".join(json.dumps({"item": str(n), "noise": 0.5, "reply": f"Bo Karlin{n}"}) + "\n" for n in range(4))
    )
    folder = tmp_path / "imported"
    words = ("--from", "jsonl", "-d", str(data), "--num-docs", "2", "--noise", "0.5", "--testbeds", "noise")
    imported = type_command("import", str(answers), *words, "-m", "elsewhere", "--out", str(folder))
    assert (folder / "run.sqlite").is_file(), imported.err
    done = type_command("diagnose", str(folder))
    assert done.code == 0
    assert sorted(line["types"][0] for line in _lines(folder)) == ["E13", "E13", "E3", "E3", "E3", "E3"]
    refused = type_command("diagnose", str(folder), "--intervene")
    assert (refused.code, "contains imported responses" in refused.err) == (2, True)
