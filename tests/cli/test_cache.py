"""`ragbed cache`, typed as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragbed.runs.execution import run
from tests.cli.typed import Done, type_command
from tests.runs.harness import TalkingModel, agree, ask_nobody, make_job


def _type(folder: Path, *words: str) -> Done:
    return type_command("cache", *words, env={"RAGBED_CACHE_DIR": str(folder)})


def test_it_shows_what_is_there_and_prunes_it(tmp_path: Path) -> None:
    assert "0 responses" in _type(tmp_path).out
    run(make_job(tmp_path / "run", 30, TalkingModel(agree), cache=tmp_path / "replies.sqlite"), ask_nobody)
    told = json.loads(_type(tmp_path, "--json").out)
    assert (told["entries"], [part["model"] for part in told["parts"]]) == (30, ["test/talking"])
    assert json.loads(_type(tmp_path, "prune", "--older-than", "1d", "--json").out) == {"removed": 0}
    assert json.loads(_type(tmp_path, "prune", "--all", "--json").out) == {"removed": 30}
    assert "0 responses" in _type(tmp_path).out


@pytest.mark.parametrize("words", [(), ("--all", "--older-than", "1d"), ("--older-than", "soon")])
def test_pruning_wants_one_clear_word(words: tuple[str, ...], tmp_path: Path) -> None:
    assert _type(tmp_path, "prune", *words).code == 2
