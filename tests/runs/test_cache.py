"""The response cache: keyed by the complete request, shared by processes, and optional for a run."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from ragbed.errors import RagbedError
from ragbed.runs.cache import key_of, open_cache
from ragbed.runs.cache_admin import look, prune
from ragbed.runs.execution import run
from ragbed.runs.status import read_status
from ragbed.schema import Case, Completion
from tests.runs.harness import TalkingModel, agree, ask_nobody, canonical, fill_together, make_job

_PARTS = some.tuples(some.text(max_size=3), some.text(max_size=3), some.binary(max_size=3), some.integers(0, 3))


def _ask(folder: Path, cache: Path, model: TalkingModel, told: list[str] | None = None) -> list[str]:
    run(make_job(folder, 100, model, cache=cache, tell=(told if told is not None else []).append), ask_nobody)
    return model.asked


@settings(max_examples=50)
@given(_PARTS, _PARTS)
def test_a_key_depends_on_all_parts(one: tuple[str, str, bytes, int], other: tuple[str, str, bytes, int]) -> None:
    assert (key_of(*one) == key_of(*other)) == (one == other)


def test_a_second_run_asks_nothing_and_is_the_same(tmp_path: Path) -> None:
    assert len(_ask(tmp_path / "a", tmp_path / "cache", TalkingModel(agree))) == 100
    assert not _ask(tmp_path / "b", tmp_path / "cache", TalkingModel(agree))
    assert canonical(tmp_path / "a") == canonical(tmp_path / "b")
    assert read_status(tmp_path / "b").models[0].cached == 100


@pytest.mark.parametrize("other", [TalkingModel(agree, name="test/other"), TalkingModel(agree, identity="2")])
def test_another_model_or_other_weights_are_called_again(other: TalkingModel, tmp_path: Path) -> None:
    _ask(tmp_path / "a", tmp_path / "cache", TalkingModel(agree))
    assert len(_ask(tmp_path / "b", tmp_path / "cache", other)) == 100


@pytest.mark.parametrize(
    "partial",
    [
        Completion(outcome="error", error="server: HTTP 500"),
        Completion(outcome="filtered", finish="content_filter"),
        Completion(outcome="ok", reply="cut", finish="length"),
        Completion(outcome="ok", reply="cut", finish="max_tokens"),
    ],
    ids=["error", "filtered", "length", "max_tokens"],
)
def test_incomplete_responses_are_never_cached(partial: Completion, tmp_path: Path) -> None:
    _ask(tmp_path / "a", tmp_path / "cache", TalkingModel(lambda _: partial))
    assert look(tmp_path / "cache").entries == 0


def test_a_cache_that_cannot_be_opened_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    told: list[str] = []
    assert len(_ask(tmp_path / "a", tmp_path / "file" / "cache", TalkingModel(agree), told)) == 100
    assert len(told) == 1
    assert "cannot be used" in told[0]
    assert "continues without the cache" in told[0]


def test_a_cache_that_fails_later_is_reported_once(tmp_path: Path) -> None:
    def sabotage(case: Case) -> Completion:
        if case.item == "0":
            connection = sqlite3.connect(tmp_path / "cache")
            connection.execute("DROP TABLE replies")
            connection.close()
        return agree(case)

    told: list[str] = []
    assert len(_ask(tmp_path / "a", tmp_path / "cache", TalkingModel(sabotage), told)) == 100
    assert len(told) == 1


def test_a_damaged_entry_is_called_again(tmp_path: Path) -> None:
    _ask(tmp_path / "a", tmp_path / "cache", TalkingModel(agree))
    connection = sqlite3.connect(tmp_path / "cache")
    connection.execute("UPDATE replies SET completion = replace(completion, 'gold', 'lead') WHERE key < '8'")
    connection.commit()
    (damaged,) = connection.execute("SELECT COUNT(*) FROM replies WHERE key < '8'").fetchone()
    connection.close()
    assert len(_ask(tmp_path / "b", tmp_path / "cache", TalkingModel(agree))) == damaged > 0


def test_pruning_removes_the_old_or_all(tmp_path: Path) -> None:
    _ask(tmp_path / "a", tmp_path / "cache", TalkingModel(agree))
    assert prune(tmp_path / "cache", 3600) == 0
    found = look(tmp_path / "cache")
    assert [(part.model, part.entries) for part in found.parts] == [("test/talking", 100)]
    assert prune(tmp_path / "cache", 0) == 100
    assert look(tmp_path / "cache").entries == 0
    assert look(tmp_path / "none").entries == prune(tmp_path / "none", 0) == 0


def test_twelve_processes_start_one_cache_and_none_is_locked_out(tmp_path: Path) -> None:
    for turn in range(2):
        assert fill_together(tmp_path / f"c{turn}", processes=12, entries=200) == [0] * 12
        assert look(tmp_path / f"c{turn}").entries == 12 * 200


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_lock_that_is_a_link_or_a_pipe_is_not_opened(tmp_path: Path, kind: str) -> None:
    lock = tmp_path / "responses.sqlite.lock"
    if kind == "link":
        lock.symlink_to(tmp_path / "other")
    else:
        os.mkfifo(lock)
    with pytest.raises(RagbedError, match=r"\.lock is a (symbolic link|named pipe), not a regular file"):
        open_cache(tmp_path / "responses.sqlite")
    assert not (tmp_path / "other").exists()
