"""Names of files and models that are not UTF-8, as archives packed under a Chinese Windows leave them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from ragbed.runs.store import open_store
from tests.cli.typed import type_command
from tests.ui.review.data import world, write_data
from tests.ui.viewer.runs import CASES, REPLIES, write_run
from tests.ui.viewer.served import serve_runs

GBK = os.fsdecode("数据".encode("gbk"))
SHOWN = r"\udcca\udcfd\udcbe\udcdd"
_CASE = ("-d", "figure1", "--num-docs", "2", "--noise", "0.5", "--testbeds", "noise", "--limit", "1")
_RUN = ("run", *_CASE, "--cache", "off", "--json")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told_in_json(*words: str) -> str:
    """What a command prints for machines."""
    done = type_command(*words)
    assert done.code == 0, done.err
    return json.dumps(json.loads(done.out.splitlines()[-1]))


def test_summaries_for_machines_show_the_name(here: Path) -> None:
    assert json.dumps(SHOWN)[1:-1] in told_in_json(*_RUN, "-m", "scripted/oracle", "--out", GBK)
    assert (here / GBK / "run.sqlite").is_file()
    commands: list[tuple[str, ...]] = [
        ("status", GBK),
        ("export", GBK, "--to", "jsonl", "-o", f"{GBK}.jsonl"),
        ("export", GBK, "--to", "archive", "-o", f"{GBK}.zip"),
        ("import", f"{GBK}.zip", "--from", "archive", "--out", f"{GBK}-2"),
        ("merge", GBK, "-o", f"{GBK}-3"),
        ("synth", "--items", "1", "--lang", "en", "-o", f"{GBK}-4"),
    ]
    for words in commands:
        assert json.dumps(SHOWN)[1:-1] in told_in_json(*words, "--json"), words


def test_a_dataset_is_called_by_its_shown_name(here: Path) -> None:
    assert type_command("export", "figure1", "--to", "native", "-o", f"{GBK}.jsonl").code == 0
    assert f'"data": {json.dumps(SHOWN)}' in told_in_json(
        "export", f"{GBK}.jsonl", "--to", "jsonl", "--num-docs", "2", "--json"
    )


def test_a_dataset_is_reviewed(here: Path) -> None:
    write_data(here, **{GBK: world("base", 1)})
    assert type_command("review", f"{GBK}.jsonl", "--apply", "new").code == 0
    assert (here / "new" / f"{SHOWN}.jsonl").is_file()


def test_a_model_is_opened_by_its_real_name_and_stored_by_its_shown_name(here: Path) -> None:
    assert type_command(*_RUN, "-m", "scripted/oracle", "--out", "r").code == 0
    assert type_command("export", "r", "--to", "archive", "-o", f"{GBK}.zip").code == 0
    done = type_command(*_RUN, "-m", f"replay/{GBK}.zip", "--out", "replayed")
    assert done.code == 0, done.err
    with open_store(here / "replayed", create=False) as store:
        assert [name for name, _ in store.models().values()] == [f"replay/{SHOWN}.zip"]


@pytest.mark.parametrize(
    "provider", ["openai", "openai-api/local", "vllm", "ollama", "anthropic", "http", "python", "llamacpp", "hf"]
)
def test_a_model_name_that_is_not_utf_8_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch, provider: str) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "key")
    monkeypatch.setenv("LOCAL_BASE_URL", "http://127.0.0.1:9")
    done = type_command(*_RUN, "-m", f"{provider}/{GBK}", "--out", "r")
    said = "the model name is not valid UTF-8. Check its spelling, or rename the file.\n"
    assert (done.code, done.err) == (2, f"ragbed: --model {provider}/{SHOWN}: {said}")
    assert not (here / "r").exists()


def test_the_viewer_shows_all_runs(here: Path) -> None:
    for name in ("plain", GBK):
        write_run(here / "runs" / name, CASES, REPLIES)
    with serve_runs(here / "runs", rater=GBK) as served:
        served.wait_for(18)
        assert sorted([run["name"] for run in served.get("/api/progress")["runs"]]) == sorted(["plain", SHOWN])
        assert served.get("/api/overview")["rater"] == SHOWN
        label = {"run": SHOWN, "case": CASES[0].case, "model": "made/good", "repeat": 0, "criterion": "correct"}
        assert served.post("/api/label", label | {"label": True}) == 200
    (line,) = (here / "runs" / GBK / "labels.jsonl").read_bytes().splitlines()
    assert msgspec.json.decode(line)["rater"] == SHOWN


def test_a_recipe_cannot_name_a_folder_outside_utf_8(here: Path) -> None:
    (here / GBK).mkdir()
    (here / GBK / "a.txt").write_text("The cup was won by Ada.")
    done = type_command("build", "init", GBK, "-m", "scripted/oracle", "-o", "recipe.toml", "--trial", "0")
    assert done.code == 2
    assert f"{SHOWN} is not valid UTF-8, so it cannot be stored in a recipe; rename the file or folder." in done.err
    assert not (here / "recipe.toml").exists()
