"""Judged metrics in reports."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from ragbed.analysis.judging.criteria import CRITERIA
from ragbed.analysis.judging.judge_run import Scope, judge_case, needs_judge
from ragbed.analysis.judging.labels import Label
from ragbed.analysis.judging.rates import MIN_QUESTIONS, CriterionJudgements, read_corrected_cells, read_judged_cells
from ragbed.analysis.locale import read_words
from ragbed.api.reports import read_report
from ragbed.models.base import Sampling
from ragbed.runs.store import RECORD, CallRequest, open_store
from ragbed.schema import Case, Completion
from ragbed.ui.viewer.annotations import read_votes
from tests.cli.typed import type_command
from tests.runs.harness import make_case
from tests.ui.viewer.runs import add_replies, said, write_run

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


def judge(
    run: Path,
    decide: Callable[[str], str],
    name: str = "made/judge",
    criterion: str = "flag",
    sampling: Sampling = Sampling(),  # noqa: B008 - immutable
    **limits: Any,
) -> None:
    """Store a judgement of every response within the limits, like `ragbed judge`."""
    asked = CRITERIA[criterion]
    scope = Scope(run, asked, **limits)
    folder = scope.folder(sampling)
    folder.mkdir(parents=True, exist_ok=True)
    replies = [stored for stored in scope.replies() if needs_judge(asked, stored)]
    with open_store(folder, create=True) as store:
        if not store.is_planned():
            store.plan(scope.settings(), [judge_case(asked, stored) for stored in replies])
        session, (model,) = store.begin_session([(name, "")])
        with store.transaction() as connection:
            for number, stored in enumerate(replies, 1):
                ask = CallRequest(model, number, 0, judge_case(asked, stored))
                verdict = said(decide(stored.completion.reply or ""))
                connection.execute(RECORD, store.row(ask, session, f"{model}-{number}", verdict))


def test_a_rate_is_over_all_attempted_and_corrections_over_detected(run: Path) -> None:
    judge(run, lambda reply: "VERDICT: yes" if "wrong" in reply.lower() else "VERDICT: no")
    judge(run, lambda _: "I would rather not.", "made/shy")
    cells = {(cell.scorer, cell.estimate.metric): cell for cell in read_judged_cells([run])}
    found = cells["judge made/judge", "flag"]
    assert (found.table, found.place) == ("counterfactual", {"noise": 0.0, "k": found.place["k"], "correct": 0.0})
    assert found.estimate.value == pytest.approx(2 / 6)
    assert (found.estimate.n, found.estimate.asked, found.estimate.errors) == (6, 6, 1)
    then = cells["judge made/judge", "flag_then_correct"].estimate
    assert (then.value, then.n) == (0.5, 2)
    shy = cells["judge made/shy", "flag"].estimate
    assert (shy.n, shy.asked, shy.unsure) == (6, 6, 4)  # an empty reply and a failed call need no judge
    assert shy.value is None
    assert ("judge made/shy", "flag_then_correct") not in cells


def test_the_report_and_the_command_have_the_same_rates(run: Path) -> None:
    judge(run, lambda reply: "VERDICT: no" if reply == "gold-3" else "I would rather not.")
    judge(run, lambda _: "I would rather not.", "made/shy")
    reported = {cell.scorer: cell.estimate.value for cell in read_judged_cells([run])}
    judges = ("made/judge", "made/shy")
    scope = Scope(run, CRITERIA["flag"])
    cells = CriterionJudgements(scope, scope.folder(Sampling()), judges).counts
    assert {f"judge {cell.judge}": cell.as_json()["rate"] for cell in cells} == reported
    assert reported == {"judge made/judge": 0.0, "judge made/shy": None}
    assert [tuple(cell.counts[name] for name in ("no", "empty", "errors")) for cell in cells] == [(2, 1, 1), (1, 1, 1)]


def test_undecided_responses_count_in_n_and_raise_the_upper_bound(run: Path) -> None:
    judge(run, lambda reply: "VERDICT: yes" if reply == "Wrong documents." else "I would rather not.")
    cell = read_judged_cells([run])[0].estimate
    assert cell.value == pytest.approx(1 / 6)
    assert (cell.n, cell.unsure) == (6, 3)
    told = type_command("report", str(run), "-f", "md").out
    assert "judge made/judge, 3 undecided" in told
    assert "(at most 66.7)" in told


def test_chinese_tables_of_judged_rates_have_chinese_names_of_testbeds(run: Path) -> None:
    judge(run, lambda _: "VERDICT: no")
    (table,) = (one for one in read_report([run], "robust").tables if one.name == "judged")
    (row,) = table.rows
    assert "counterfactual, noise=0" in row.tell_data(read_words("en"))
    assert "反事实鲁棒性, 噪声 0" in row.tell_data(read_words("zh"))


def test_judgements_on_older_instructions_are_not_reported(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge(run, lambda _: "VERDICT: yes")
    assert read_judged_cells([run])
    monkeypatch.setitem(CRITERIA, "flag", dataclasses.replace(CRITERIA["flag"], prompt="another"))
    assert not read_judged_cells([run])


@pytest.fixture
def unsure_run(tmp_path: Path) -> Path:
    """Return a run with two unsure responses, a certain one, an empty one and a failed call."""
    cases = [replace(_case(n), answer=(("Athens",),), fake=(("New York",),)) for n in range(1, 6)]
    unsure = said("Athens hosted the games. New York hosted the games.")
    replies = [unsure, said("Athens hosted the games."), unsure, said(""), Completion(outcome="error", error="x: y")]
    write_run(tmp_path / "run", cases, {"made/up": replies})
    return tmp_path / "run"


def test_judgements_of_unsure_responses_are_reported_as_a_share_of_these(unsure_run: Path) -> None:
    judge(unsure_run, lambda _: "VERDICT: yes", criterion="correct", only_unsure=True)
    (cell,) = read_judged_cells([unsure_run])
    assert (cell.estimate.value, cell.estimate.n, cell.estimate.asked, cell.scope) == (1.0, 2, 2, "unsure")
    assert "judge made/judge, unsure responses only" in type_command("report", str(unsure_run), "-f", "md").out


@pytest.mark.parametrize("first", ["all", "unsure"])
def test_the_judgements_with_the_most_verdicts_are_reported(unsure_run: Path, first: str) -> None:
    for only_unsure in (first == "unsure", first == "all"):
        judge(unsure_run, lambda _: "VERDICT: yes", criterion="correct", only_unsure=only_unsure)
    judge(unsure_run, lambda _: "Unclear.", criterion="correct", sampling=Sampling(temperature=0.7))
    (cell,) = read_judged_cells([unsure_run])
    assert cell.estimate.value == pytest.approx(3 / 5)
    assert (cell.estimate.n, cell.estimate.asked) == (5, 5)


def test_responses_that_came_after_the_judgement_are_undecided(tmp_path: Path) -> None:
    run, cases = tmp_path / "run", [_case(n) for n in (1, 2, 3)]
    write_run(run, cases, {"made/up": [said("gold-1"), said("")]})
    judge(run, lambda _: "VERDICT: yes")
    add_replies(run, cases, {"made/up": [said("gold-1"), said(""), said("gold-3")]})
    cell = read_judged_cells([run])[0]
    assert (cell.estimate.metric, cell.estimate.n, cell.estimate.unsure) == ("flag", 3, 1)


def test_the_viewer_shows_judgements_outside_the_testbeds_that_a_criterion_applies_to(run: Path) -> None:
    judge(run, lambda _: "VERDICT: no", criterion="refusal", testbeds=frozenset({"counterfactual"}))
    with open_store(run, create=False) as store:
        (vote,) = read_votes(run, next(iter(store.results())))
    assert (vote.criterion, vote.verdict) == ("refusal", "no")


def test_a_judge_that_was_killed_while_its_file_was_created_is_skipped(run: Path) -> None:
    folder = Scope(run, CRITERIA["flag"]).folder(Sampling())
    folder.mkdir(parents=True)
    (folder / "run.sqlite").touch()
    assert read_judged_cells([run]) == []
    with open_store(run, create=False) as store:
        assert read_votes(run, next(iter(store.results()))) == []
    assert type_command("report", str(run)).code == 0


@pytest.mark.parametrize(
    ("labels", "row"), [(40, "rules, corrected by 40 labels"), (8, "rules, 8 labels (a correction")]
)
def test_labels_correct_the_rates_of_the_rules_in_a_report(labels: int, row: str, tmp_path: Path) -> None:
    """People find that half of the responses that the rules call wrong are right."""
    run, cases = tmp_path / "run", [make_case(number) for number in range(60)]
    replies = [said(f"It is gold-{number}." if number % 3 == 0 else "It is lead.") for number in range(60)]
    write_run(run, cases, {"made/up": replies})
    lines = [
        Label(criterion="correct", model="made/up", case=case.case, label=number % 3 == 0 or number % 2 == 0)
        for number, case in enumerate(cases[:labels])
    ]
    (run / "labels.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, lines)) + b"\n")
    plain, corrected = (cell.estimate for cell in read_corrected_cells([run]))
    assert plain.value == pytest.approx(20 / 60)
    assert plain.low is not None
    if labels < MIN_QUESTIONS:
        assert (corrected.value, corrected.low) == (None, None)
    else:
        assert corrected.low is not None
        assert corrected.high is not None
        assert (plain.value or 0) < corrected.low < 0.67 < corrected.high
    told = type_command("report", str(run), "-f", "md").out
    assert "rules, all conditions" in told
    assert row in told
    assert f"{labels} 个" in read_report([run], "robust").tables[-1].rows[-1].tell_data(read_words("zh"))
