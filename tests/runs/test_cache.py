"""The response cache: keyed by the complete request, shared by processes, and optional for a run."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from ragbed.errors import RagbedError
from ragbed.runs.cache import key_of, look, prune
from ragbed.runs.database import seal_of
from ragbed.runs.execution import run
from ragbed.runs.status import read_status
from ragbed.schema import Case, Completion
from tests.cli.typed import type_command
from tests.runs.harness import TalkingModel, agree, ask_nobody, canonical, fill_together, make_case, make_job
from tests.servers.function_model import ModelRequest, function_model

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


def test_a_request_that_cannot_be_created_does_not_affect_the_cases_before_it(tmp_path: Path) -> None:
    class Picky(TalkingModel):
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


def test_run_status_and_report_say_how_many_responses_are_cached_and_how_old(tmp_path: Path) -> None:
    """Call a swapped model behind the same URL; before, the result was 100 % again, and no request was sent."""
    answers = iter(["Paris"] * 5 + ["I do not know"] * 5)
    sent: list[ModelRequest] = []

    def respond(request: ModelRequest) -> str:
        sent.append(request)
        return next(answers)

    words = ("run", "-m", "openai-api/t/m", "-d", "ragbed-mini-en_base", "--testbeds", "closed-book", "--limit", "5")
    with function_model(respond) as url:
        env = {"T_BASE_URL": url, "RAGBED_CACHE_DIR": str(tmp_path / "cache")}
        runs = [
            type_command(*words, "--out", str(tmp_path / name), *cache, env=env)
            for name, cache in (("a", ()), ("b", ("--cache", "reuse")), ("c", ("--cache", "reuse")))
        ]
    assert len(sent) == 10
    assert "from the cache" not in runs[0].err + runs[1].err
    message = "5 responses come from the cache; the oldest is "
    assert message in runs[2].err
    assert message in type_command("status", str(tmp_path / "c")).out
    today = datetime.now(UTC).date()
    report = type_command("report", str(tmp_path / "c"))
    assert f"5 responses come from the cache; the oldest was received on {today}." in report.out.replace("\n", " ")


def test_the_age_of_cached_responses_is_that_of_the_oldest(tmp_path: Path) -> None:
    """Keep the time at which a response was received; before, a run did not say how old its responses are."""
    _ask(tmp_path / "a", tmp_path / "cache", TalkingModel(agree))
    with closing(sqlite3.connect(tmp_path / "cache")) as connection, connection:
        key, at, completion = connection.execute("SELECT key, at, completion FROM responses").fetchone()
        earlier = at - 86_400.0
        changes = (earlier, seal_of(completion, key, earlier), key)
        connection.execute("UPDATE responses SET at = ?, seal = ? WHERE key = ?", changes)
    _ask(tmp_path / "b", tmp_path / "cache", TalkingModel(agree))
    status = read_status(tmp_path / "b").models[0]
    assert (status.cached, status.oldest_cached) == (100, int(earlier))
    assert read_status(tmp_path / "a").models[0].oldest_cached is None


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


def test_a_cache_that_fails_later_is_reported_once(tmp_path: Path) -> None:
    def sabotage(case: Case) -> Completion:
        if case.item == "0":
            connection = sqlite3.connect(tmp_path / "cache")
            connection.execute("DROP TABLE responses")
            connection.close()
        return agree(case)

    told: list[str] = []
    assert len(_ask(tmp_path / "a", tmp_path / "cache", TalkingModel(sabotage), told)) == 100
    assert len(told) == 1


def test_a_damaged_entry_is_called_again_and_replaced(tmp_path: Path) -> None:
    _ask(tmp_path / "a", tmp_path / "cache", TalkingModel(agree))
    with closing(sqlite3.connect(tmp_path / "cache")) as connection, connection:
        update = "UPDATE responses SET completion = replace(completion, 'gold', 'lead') WHERE key < '8'"
        damaged = connection.execute(update).rowcount
    assert len(_ask(tmp_path / "b", tmp_path / "cache", TalkingModel(agree))) == damaged > 0
    assert not _ask(tmp_path / "c", tmp_path / "cache", TalkingModel(agree)), "the damaged entries are replaced"


def test_another_file_is_no_cache_to_be_pruned(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    path.write_text("junk" * 1_000)
    with pytest.raises(RagbedError, match=r"file is not a database\. .* If the file is damaged, delete it\."):
        prune(path, 0)


def test_twelve_processes_start_one_cache_and_none_is_locked_out(tmp_path: Path) -> None:
    for turn in range(2):
        assert fill_together(tmp_path / f"c{turn}", processes=12, entries=200) == [0] * 12
        assert look(tmp_path / f"c{turn}").entries == 12 * 200
