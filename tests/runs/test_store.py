"""The file of a run: versions, files of other programs, damaged files."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from ragbed.errors import RagbedError
from ragbed.runs import database
from ragbed.runs.execution import run
from ragbed.runs.status import read_status
from ragbed.runs.store import RECORD, CallRequest, open_store
from ragbed.schema import Case, Completion
from tests.runs.harness import TalkingModel, agree, ask_nobody, canonical, change_file, make_case, make_job


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run(make_job(tmp_path, 60, TalkingModel(agree)), ask_nobody)
    return tmp_path


@pytest.mark.parametrize("change", [-1, 1])
@pytest.mark.parametrize("create", [False, True])
def test_a_run_with_another_schema_is_refused(folder: Path, change: int, create: bool) -> None:
    change_file(folder, f"PRAGMA user_version = {database.SCHEMA_VERSION + change}")
    with pytest.raises(RagbedError, match=r"run\.sqlite was written by another version of ragbed \(schema \d+ "):
        open_store(folder, create=create)


def test_files_of_others_are_named(tmp_path: Path) -> None:
    (tmp_path / "run.sqlite").write_text("hello, this is no database, whatever its name may say " * 20)
    for create in (True, False):
        with pytest.raises(RagbedError, match=r"run\.sqlite"):
            open_store(tmp_path, create=create)
    (tmp_path / "run.sqlite").unlink()
    other = sqlite3.connect(tmp_path / "run.sqlite")
    other.execute("CREATE TABLE mine (x)")
    other.close()
    with pytest.raises(RagbedError, match="another program's database, not a run; choose"):
        open_store(tmp_path, create=True)


def test_a_reply_is_never_replaced_and_an_error_is(folder: Path) -> None:
    before = canonical(folder)
    with open_store(folder, create=True) as store, store.transaction() as connection:
        ask = CallRequest(1, 1, 0, make_case(0))
        connection.execute(RECORD, store.row(ask, 2, "", Completion(outcome="ok", reply="another")))
    assert canonical(folder) == before


def test_a_result_that_replaces_an_error_has_the_next_number(tmp_path: Path) -> None:
    def fail_twice(case: Case) -> Completion:
        return agree(case) if int(case.item) not in (3, 9) else Completion(outcome="error", error="server: x")

    def after(number: int) -> dict[int, str]:
        with open_store(tmp_path, create=False) as store:
            assert store.last_result() == 10 + number
            found = {place: result.case.item for place, result, _ in store.results_after(number, 100)}
            assert len(list(store.results())) == 10
        return found

    run(make_job(tmp_path, 10, TalkingModel(fail_twice)), ask_nobody)
    assert sorted(after(0).values()) == sorted(map(str, range(10)))
    run(make_job(tmp_path, 10, TalkingModel(agree)), ask_nobody)
    with open_store(tmp_path, create=False) as store:
        found = {place: result.case.item for place, result, _ in store.results_after(10, 100)}
        assert (sorted(found), sorted(found.values())) == ([11, 12], ["3", "9"])
        assert (len(store.done(1)), store.last_result(), len(list(store.results_after(0, 100)))) == (10, 12, 10)


def test_calls_without_a_response_are_listed_before_and_after_they_are_repeated(folder: Path) -> None:
    recounted = "rows = (SELECT COUNT(*) FROM results), seals = (SELECT SUM(seal) FROM results)"
    change_file(folder, "DELETE FROM results WHERE item = 3", f"UPDATE ledger SET {recounted} WHERE what = 'results'")
    for _ in range(2):
        assert read_status(folder).maybe_paid_twice == 1
        run(make_job(folder, 60, TalkingModel(agree)), ask_nobody)


def test_damage_is_refused_or_changes_nothing(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    told, whole = canonical(folder), (folder / "run.sqlite").read_bytes()
    damaged, draw = tmp_path_factory.mktemp("damaged"), random.Random(7)
    refused = 0
    for turn in range(150):
        content = bytearray(whole)
        place, size = draw.randrange(len(content)), draw.choice((1, 1, 4, 64))
        if turn % 10 == 0:
            del content[place:]
        elif turn % 3:
            content[place] ^= 1 << draw.randrange(8)
        else:
            content[place : place + size] = bytes(len(content[place : place + size]))
        (damaged / "run.sqlite").write_bytes(content)
        try:
            assert sorted(canonical(damaged).splitlines()) == sorted(told.splitlines())
        except RagbedError:
            refused += 1
        for rest in damaged.glob("run.sqlite-*"):
            rest.unlink()
    assert refused > 25


def test_a_row_that_vanished_is_missed(folder: Path) -> None:
    change_file(folder, "DELETE FROM results WHERE item = 5")
    with pytest.raises(RagbedError, match="the list of results is damaged"):
        canonical(folder)


def test_what_is_pending_can_be_sorted_by_prompt(tmp_path: Path) -> None:
    fillers = ["b", "a", "c", "a", "b"] * 12
    cases = [make_case(number, filler=filler, feasible=number % 50 > 0) for number, filler in enumerate(fillers)]
    with open_store(tmp_path, create=True) as store:
        store.plan({}, iter(cases))
        with store.transaction():
            store.add_models([("m", "")])
            done = CallRequest(1, 2, 0, cases[1])
            store.connection.execute(RECORD, store.row(done, 1, "", Completion(outcome="ok", reply="x")))
        asked = [ask.case for ask in store.pending(1, 2, by_prompt=True)]
        assert [ask.number for ask in store.pending(1, 1)] == sorted(ask.number for ask in store.pending(1, 1))
    first, second = asked[:57], asked[57:]
    prompts = [case.messages[0].content for case in second]
    assert (prompts, len(second)) == (sorted(prompts), 58)
    assert first == [case for case in second if case != cases[1]]
