"""Judged metrics in reports."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragbed.analysis.judging.cells import read_judged_cells
from ragbed.analysis.judging.criteria import CRITERIA
from ragbed.analysis.judging.judge_run import Scope, needs_judge, read_judgements
from ragbed.analysis.judging.request import judge_case
from ragbed.analysis.judging.tally import tabulate
from ragbed.models.base import Sampling
from ragbed.runs.store import RECORD, CallRequest, open_store
from ragbed.schema import Case, Completion
from ragbed.ui.viewer.judged import read_votes
from tests.cli.typed import type_command
from tests.runs.harness import make_case
from tests.ui.viewer.runs import said, write_run

REPLIES = ("It is gold-1, and the documents are wrong.", "Wrong documents.", "gold-3", "", "no idea")


def _case(number: int) -> Case:
    return replace(make_case(number), testbed="counterfactual", noise=0.0, noise_real=0.0, expect="correct")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a run with five responses and a failed call."""
    failed = Completion(outcome="error", error="timeout: x")
    write_run(
        tmp_path / "run", [_case(n) for n in range(1, 7)], {"made/up": [*(said(reply) for reply in REPLIES), failed]}
    )
    return tmp_path / "run"


def judge(run: Path, decide: Callable[[str], str], name: str = "made/judge", criterion: str = "flag") -> None:
    """Store a judgement of every response, like `ragbed judge`."""
    asked = CRITERIA[criterion]
    scope = Scope(run, asked)
    folder = scope.folder(Sampling())
    folder.mkdir(parents=True, exist_ok=True)
    replies = [stored for stored in scope.replies() if needs_judge(asked, stored)]
    with open_store(folder, create=True) as store:
        if not store.is_planned():
            store.plan(
                {"criterion": criterion, "prompt": asked.prompt}, [judge_case(asked, stored) for stored in replies]
            )
        session, (model,) = store.begin_session([(name, "")])
        with store.transaction() as connection:
            for number, stored in enumerate(replies, 1):
                ask = CallRequest(model, number, 0, judge_case(asked, stored))
                verdict = said(decide(stored.completion.reply or ""))
                connection.execute(RECORD, store.row(ask, session, f"{model}-{number}", verdict, cached=False))


def test_a_rate_is_over_all_attempted_and_corrections_over_detected(run: Path) -> None:
    judge(run, lambda reply: "VERDICT: yes" if "wrong" in reply.lower() else "VERDICT: no")
    judge(run, lambda _: "I would rather not.", "made/shy")
    cells = {(cell.track, cell.estimate.metric): cell for cell in read_judged_cells([run])}
    found = cells["judge made/judge", "flag"]
    assert (found.table, found.place) == ("counterfactual", {"noise": 0.0, "k": found.place["k"], "correct": 0.0})
    assert found.estimate.value == pytest.approx(2 / 6)
    assert (found.estimate.n, found.estimate.asked, found.estimate.errors) == (6, 6, 1)
    then = cells["judge made/judge", "flag_then_correct"].estimate
    assert (then.value, then.n) == (0.5, 2)
    shy = cells["judge made/shy", "flag"].estimate
    assert (shy.n, shy.asked) == (2, 6)  # an empty reply and a failed call need no judge
    assert shy.value is None
    assert ("judge made/shy", "flag_then_correct") not in cells


def test_the_report_and_the_command_have_the_same_rates(run: Path) -> None:
    judge(run, lambda reply: "VERDICT: no" if reply == "gold-3" else "I would rather not.")
    judge(run, lambda _: "I would rather not.", "made/shy")
    reported = {cell.track: cell.estimate.value for cell in read_judged_cells([run])}
    judges = ("made/judge", "made/shy")
    scope = Scope(run, CRITERIA["flag"])
    cells = tabulate(scope, scope.replies(), read_judgements(scope.folder(Sampling()), scope.criterion, judges))
    assert {f"judge {cell.judge}": cell.rate for cell in cells} == reported
    assert reported == {"judge made/judge": 0.0, "judge made/shy": None}
    assert [(cell.no, cell.empty, cell.errors) for cell in cells] == [(2, 1, 1), (1, 1, 1)]


def test_judgements_on_older_instructions_are_not_reported(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge(run, lambda _: "VERDICT: yes")
    assert read_judged_cells([run])
    monkeypatch.setitem(CRITERIA, "flag", dataclasses.replace(CRITERIA["flag"], prompt="another"))
    assert not read_judged_cells([run])


def test_a_judge_that_decided_nothing_has_no_rate(tmp_path: Path) -> None:
    write_run(tmp_path / "run", [_case(1)], {"made/up": [said("gold-1")]})
    judge(tmp_path / "run", lambda _: "I would rather not.")
    (cell,) = read_judged_cells([tmp_path / "run"])
    assert (cell.estimate.value, cell.estimate.low, cell.estimate.n, cell.estimate.asked) == (None, None, 0, 1)


def test_a_report_has_judged_cells_only_after_judging(run: Path) -> None:
    def tracks() -> set[str]:
        told = type_command("report", str(run), "-f", "csv").out
        return {row["track"] for row in csv.DictReader(io.StringIO(told))}

    assert tracks() == {"robust", "code", "paper"}
    judge(run, lambda _: "Yes, it has identified them.", criterion="code.ed_star")
    assert tracks() == {"robust", "code", "paper", "judge made/judge"}
    assert "ED{*} and CR as judged: made/judge by the original" in type_command("report", str(run), "-f", "latex").out


def test_a_judge_that_was_killed_while_its_file_was_created_is_skipped(run: Path) -> None:
    folder = Scope(run, CRITERIA["flag"]).folder(Sampling())
    folder.mkdir(parents=True)
    (folder / "run.sqlite").touch()
    assert read_judged_cells([run]) == []
    with open_store(run, create=False) as store:
        assert read_votes(run, next(iter(store.results()))) == []
    assert type_command("report", str(run)).code == 0
