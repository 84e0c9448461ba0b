"""The response cache: keyed by the complete request, shared by processes, and optional for a run."""

from __future__ import annotations

import asyncio
import math
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from ragbed.errors import RagbedError
from ragbed.runs import cache as cache_module
from ragbed.runs.cache import Cache, key_of, open_cache
from ragbed.runs.cache_admin import look, prune
from ragbed.runs.execution import run
from ragbed.runs.status import read_status
from ragbed.schema import Case, Completion
from tests.runs.harness import TalkingModel, agree, ask_nobody, canonical, fill_together, make_case, make_job

_PARTS = some.tuples(some.text(max_size=3), some.text(max_size=3), some.binary(max_size=3), some.integers(0, 3))


def _ask(folder: Path, cache: Path, model: TalkingModel, told: list[str] | None = None) -> list[str]:
    run(make_job(folder, 100, model, cache=cache, tell=(told if told is not None else []).append), ask_nobody)
    return model.asked


class PostingModel(TalkingModel):
    """A model that sends the request's bytes, so the runner looks up several cached responses at once."""

    def request(self, case: Case) -> bytes:
        return str(int(case.item) % 50).encode()  # every response is needed twice

    async def complete_request(self, request: bytes, case: Case) -> Completion:
        return await self.complete(case)


@settings(max_examples=50)
@given(_PARTS, _PARTS)
def test_a_key_depends_on_all_parts(one: tuple[str, str, bytes, int], other: tuple[str, str, bytes, int]) -> None:
    assert (key_of(*one) == key_of(*other)) == (one == other)


def test_a_second_run_asks_nothing_and_is_the_same(tmp_path: Path) -> None:
    assert len(_ask(tmp_path / "a", tmp_path / "cache", TalkingModel(agree))) == 100
    assert not _ask(tmp_path / "b", tmp_path / "cache", TalkingModel(agree))
    assert canonical(tmp_path / "a") == canonical(tmp_path / "b")
    assert read_status(tmp_path / "b").models[0].cached == 100


def test_two_servers_with_the_same_model_name_do_not_share_responses(tmp_path: Path) -> None:
    def ask(run: str, url: str) -> int:
        model = TalkingModel(agree)
        model.cache_scope = url  # type: ignore[attr-defined]
        return len(_ask(tmp_path / run, tmp_path / "cache", model))

    asked = [ask("a", "http://a/v1"), ask("b", "http://b/v1"), ask("c", "http://a/v1"), ask("d", "")]
    assert asked == [100, 100, 0, 100]


def test_a_run_can_be_resumed_on_another_server_with_the_same_model(tmp_path: Path) -> None:
    def partly(case: Case) -> Completion:
        return agree(case) if int(case.item) < 50 else Completion(outcome="error", error="server: x")

    first, second = TalkingModel(partly), TalkingModel(agree)
    second.cache_scope = "http://localhost:8081/v1"  # type: ignore[attr-defined]
    run(make_job(tmp_path / "a", 60, first), ask_nobody)
    run(make_job(tmp_path / "a", 60, second), ask_nobody)
    assert len(second.asked) == 10


def test_responses_that_are_looked_up_together_are_requested_once(tmp_path: Path) -> None:
    first, second = PostingModel(agree), PostingModel(agree)
    first.concurrency = 1
    assert len(_ask(tmp_path / "a", tmp_path / "cache", first)) == 50
    assert not _ask(tmp_path / "b", tmp_path / "cache", second)
    assert read_status(tmp_path / "a").models[0].cached == 50
    assert read_status(tmp_path / "b").models[0].cached == 100


def test_a_response_that_is_written_after_it_was_looked_up_is_found(tmp_path: Path) -> None:
    keys = [f"{number:03}" for number in range(200)]

    async def use() -> list[bool]:
        cache = Cache(tmp_path / "cache", pytest.fail)
        cache.prefetch(keys)
        for key in keys[:100]:  # more than are written at once
            cache.keep(key, "test/talking", Completion(outcome="ok", reply=key, finish="stop"))
        while cache._flushing is not None:
            await asyncio.sleep(0.001)
        found = [cache.find(key) for key in keys]
        await cache.close()
        return [each is not None and each[0].reply == each[1] == key for key, each in zip(keys, found, strict=True)]

    assert asyncio.run(use()) == [True] * 100 + [False] * 100


def test_a_response_that_another_process_writes_after_the_lookup_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def use() -> list[str | None]:
        first, second = Cache(tmp_path / "cache", pytest.fail), Cache(tmp_path / "cache", pytest.fail)
        first.prefetch(["0", "1", "2", "2 with a raised limit", "3"])
        for key in ("0", "1", "2 with a raised limit"):
            second.keep(key, "test/talking", Completion(outcome="ok", reply=f"response to {key}", finish="stop"))
        await second.close()
        monkeypatch.setattr(cache_module, "_TRUST_S", math.inf)
        found = [first.find("0")]
        monkeypatch.setattr(cache_module, "_TRUST_S", 0)
        found += [first.find("0"), first.find("1"), first.find("2", "2 with a raised limit"), first.find("3")]
        await first.close()
        return [None if each is None else each[0].reply for each in found]

    assert asyncio.run(use()) == [None, "response to 0", "response to 1", "response to 2 with a raised limit", None]


def test_responses_that_are_found_together_need_no_further_query(tmp_path: Path) -> None:
    async def use() -> list[bool]:
        cache = Cache(tmp_path / "cache", pytest.fail)
        cache.keep("1", "test/talking", Completion(outcome="ok", reply="1", finish="stop"))
        await cache.close()
        cache = Cache(tmp_path / "cache", pytest.fail)
        cache.prefetch(["1", "1 with a raised limit"])
        with open_cache(tmp_path / "cache") as connection:
            connection.execute("DELETE FROM replies")
        connection.close()
        found = [cache.find("1", "1 with a raised limit") is not None for _ in range(2)]
        await cache.close()
        return found

    assert asyncio.run(use()) == [True, False]


def test_a_request_that_cannot_be_created_does_not_affect_the_cases_before_it(tmp_path: Path) -> None:
    class Picky(PostingModel):
        concurrency = 1

        def request(self, case: Case) -> bytes:
            if case.item == "7":
                raise ValueError("item 7 has no request")
            return super().request(case)

    model = Picky(agree)
    with pytest.raises(ValueError, match="item 7 has no request"):
        _ask(tmp_path / "a", tmp_path / "cache", model)
    assert model.asked == [make_case(number).case for number in range(7)]
    assert read_status(tmp_path / "a").models[0].ok == 7
    assert look(tmp_path / "cache").entries == 7


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


def test_a_damaged_entry_is_called_again_and_replaced(tmp_path: Path) -> None:
    _ask(tmp_path / "a", tmp_path / "cache", TalkingModel(agree))
    connection = sqlite3.connect(tmp_path / "cache")
    connection.execute("UPDATE replies SET completion = replace(completion, 'gold', 'lead') WHERE key < '8'")
    connection.commit()
    (damaged,) = connection.execute("SELECT COUNT(*) FROM replies WHERE key < '8'").fetchone()
    connection.close()
    assert len(_ask(tmp_path / "b", tmp_path / "cache", TalkingModel(agree))) == damaged > 0
    assert not _ask(tmp_path / "c", tmp_path / "cache", TalkingModel(agree)), "the damaged entries are replaced"


def test_a_cache_without_its_table_is_named_with_the_fix(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    with closing(open_cache(path)) as connection:
        connection.execute("DROP TABLE replies")
    with pytest.raises(
        RagbedError, match=r"no such table: replies\. Check the permissions .* If the file is damaged, delete it\."
    ):
        look(path)


def test_another_file_is_no_cache_to_be_pruned(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    path.write_text("junk" * 1_000)
    with pytest.raises(
        RagbedError, match=r"file is not a database\. Check the permissions .* If the file is damaged, delete it\."
    ):
        prune(path, 0)


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
