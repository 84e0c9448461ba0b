"""`ragbed status`, typed as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

from ragbed.runs.execution import run
from ragbed.runs.lock import hold
from ragbed.runs.store import INTEND, open_store
from ragbed.schema import Case, Completion
from tests.cli.typed import type_command
from tests.runs.harness import TalkingModel, agree, ask_nobody, make_case, make_job

_LOST = """Calls that were in flight when a session or worker ended: 1. Their responses are lost; calls that the \
provider completed are billed again when they are resent.
"""


def _mixed(case: Case) -> Completion:
    kinds = {"1": "timeout: no reply", "2": "timeout: none", "3": "server: HTTP 500"}
    if case.item in kinds:
        return Completion(outcome="error", error=kinds[case.item])
    return Completion(outcome="filtered") if case.item == "4" else agree(case)


def test_counts_add_up_and_kinds_of_errors_are_named(tmp_path: Path) -> None:
    run(make_job(tmp_path, 10, TalkingModel(_mixed)), ask_nobody)
    done = type_command("status", str(tmp_path), "--json")
    assert done.code == 0
    (model,) = json.loads(done.out)["models"]
    assert (model["asked"], model["ok"], model["filtered"], model["error"]) == (10, 6, 1, 3)
    assert model["errors"] == {"timeout": 2, "server": 1}
    assert "2 timeout, 1 server" in done.err
    assert "Incomplete: 3 cases ended in an error. Rerun the command that created the run to resume it." in done.err


def test_calls_without_reply_are_in_flight_while_it_runs_and_suspect_after(tmp_path: Path) -> None:
    run(make_job(tmp_path, 10, TalkingModel(agree), cases=lambda: [make_case(0), make_case(1)]), ask_nobody)
    with open_store(tmp_path, create=True) as store, store.transaction() as connection:
        connection.execute(INTEND, (1, 2, 0, 2, 0.0))
    with hold(tmp_path):
        assert "1 call in flight" in type_command("status", str(tmp_path)).out
    assert _LOST in type_command("status", str(tmp_path)).out


def test_a_lost_call_is_told_in_the_same_words_before_and_after_it_is_asked_again(tmp_path: Path) -> None:
    two = make_job(tmp_path, 10, TalkingModel(agree), cases=lambda: [make_case(0), make_case(1)])
    run(two, ask_nobody)
    with open_store(tmp_path, create=True) as store, store.transaction() as connection:
        connection.execute("DELETE FROM results WHERE item = 2")  # as if it had ended before the reply came
    before = type_command("status", str(tmp_path)).out
    run(two, ask_nobody)
    after = type_command("status", str(tmp_path)).out
    assert "Incomplete: 1 case has no result. Rerun" in before
    assert "Incomplete" not in after
    assert _LOST in before
    assert _LOST in after
