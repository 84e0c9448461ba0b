"""The overview table of a run: the same numbers from every process, command and function."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from ragbed import open_run
from ragbed.analysis.condition_table import ConditionCounts, EarlyTable, tabulate_run
from ragbed.analysis.metrics.cells import CellBuilder
from ragbed.analysis.metrics.trial import to_scored
from ragbed.analysis.metrics.trial_columns import full_name, group_trials
from ragbed.runs.circuit_breaker import CircuitOpen
from ragbed.runs.condition import condition_of
from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.execution import run
from ragbed.runs.store import open_store
from ragbed.schema import Case, Completion
from ragbed.scoring import score
from tests.cli.typed import type_command
from tests.runs.harness import TalkingModel, agree, ask_nobody, make_case, make_job


def _answer(case: Case) -> Completion:
    if int(case.item) % 7 == 0:
        return Completion(outcome="error", error="timeout: no reply within 3 s")
    return Completion(outcome="ok", reply=f"It is gold-{int(case.item) % 10}.", finish="stop")


def test_several_processes_produce_the_same_table_as_one(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 1200, TalkingModel(_answer)), ask_nobody)
    (alone,) = tabulate_run(tmp_path / "run", LocalEngine(1))
    assert (alone.asked, alone.error, round(alone.rate("correct") * 1200)) == (1200, 172, 8)
    with closing(LocalEngine(2, alone_s=0)) as engine:
        assert tabulate_run(tmp_path / "run", engine) == [alone]


class _Scoring(EarlyTable):
    """Notes when results are scored."""

    scored = False

    def go_on(self) -> bool:
        before = self._rows
        has_worked = super().go_on()
        self.scored |= self._rows > before
        return has_worked


class _UnusedEngine(LocalEngine):
    def spread(self, work: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
        raise AssertionError("all results were scored during the run")


def test_scoring_during_the_run_gives_the_same_table_as_afterwards(tmp_path: Path) -> None:
    early = _Scoring(tmp_path / "run")
    run(make_job(tmp_path / "run", 60, TalkingModel(_answer, takes_s=0.03), follower=early), ask_nobody)
    assert early.scored
    assert early.finish(_UnusedEngine()) == tabulate_run(tmp_path / "run")


def test_results_of_earlier_sessions_are_included(tmp_path: Path) -> None:
    first, second = TalkingModel(agree), TalkingModel(agree, "test/second")
    run(make_job(tmp_path / "run", 60, first), ask_nobody)
    early = _Scoring(tmp_path / "run")
    run(make_job(tmp_path / "run", 60, first, second, follower=early), ask_nobody)
    assert (len(first.asked), len(second.asked)) == (60, 60)
    assert [(cell.asked, cell.rate("correct")) for cell in early.finish(_UnusedEngine())] == [(60, 1.0)] * 2


def test_the_database_file_is_complete_after_scoring_during_the_run(tmp_path: Path) -> None:
    early = _Scoring(tmp_path / "run")
    run(make_job(tmp_path / "run", 60, TalkingModel(agree, takes_s=0.03), follower=early), ask_nobody)
    (tmp_path / "copy").mkdir()
    copyfile(tmp_path / "run" / "run.sqlite", tmp_path / "copy" / "run.sqlite")
    assert tabulate_run(tmp_path / "copy") == early.finish(_UnusedEngine())


def test_early_scores_are_discarded_if_an_error_was_retried_since(tmp_path: Path) -> None:
    run(make_job(tmp_path / "run", 60, TalkingModel(_answer)), ask_nobody)
    early = EarlyTable(tmp_path / "run")
    with open_store(tmp_path / "run", create=False) as store:
        early.begin(store)
    while early.go_on():
        pass
    run(make_job(tmp_path / "run", 60, TalkingModel(agree)), ask_nobody)
    (cell,) = early.finish()
    assert (cell.asked, cell.error) == (60, 0)


def test_an_error_while_scoring_early_is_raised_after_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(case: Case, completion: Completion) -> dict[str, Any]:
        raise ValueError("broken scorer")

    monkeypatch.setattr("ragbed.scoring.score_outcome", fail)
    early = EarlyTable(tmp_path / "run")
    run(make_job(tmp_path / "run", 60, TalkingModel(agree), follower=early), ask_nobody)
    with pytest.raises(ValueError, match="broken scorer"):
        early.finish(LocalEngine(1))


def test_a_batch_has_few_results_even_with_many_repeats(tmp_path: Path) -> None:
    run(replace(make_job(tmp_path / "run", 4, TalkingModel(_answer)), repeats=600), ask_nobody)
    jobs: list[int] = []

    class Counting(LocalEngine):
        def spread(self, work: Callable[[Any], Any], jobs_: Iterable[Any]) -> Iterator[Any]:
            for part in super().spread(work, jobs_):
                jobs.append(part.rows)
                yield part

    (cell,) = tabulate_run(tmp_path / "run", Counting(workers=1))
    assert cell.asked == 2_400
    assert jobs == [600] * 4


def test_a_finished_run_has_a_result_for_every_planned_trial(tmp_path: Path) -> None:
    run(make_job(tmp_path, 20, TalkingModel(agree)), ask_nobody)
    (cell,) = tabulate_run(tmp_path)
    assert (cell.asked, cell.planned, cell.rate("code.correct")) == (20, 20, 1.0)


def test_an_unfinished_run_shows_the_number_of_planned_trials(tmp_path: Path) -> None:
    lost = TalkingModel(lambda _: Completion(outcome="error", error="auth: no"), "test/lost")
    with pytest.raises(CircuitOpen):
        run(make_job(tmp_path, 100, lost, TalkingModel(agree, "test/well")), ask_nobody)
    cells = {cell.condition.model: cell for cell in tabulate_run(tmp_path)}
    assert (cells["test/well"].asked, cells["test/well"].planned) == (100, 100)
    assert 3 <= cells["test/lost"].asked < cells["test/lost"].planned == 100


def test_a_condition_without_responses_has_no_rates() -> None:
    row = ConditionCounts(condition_of("test/m", make_case(1)), planned=3).as_json()
    assert set(row["rates"].values()) == {None}  # type: ignore[attr-defined]  # a dictionary


def _cells_of_columns(folder: Path) -> dict[tuple[object, ...], dict[str, list[object]]]:
    """Return the rates of all conditions and scores from the columns that reports use."""
    with open_store(folder, create=False) as store:
        trials = [
            to_scored(r.case, r.model, r.repeat, r.completion.outcome, _scores(r.case, r.completion))
            for r in store.results()
        ]
    found: dict[tuple[object, ...], dict[str, list[object]]] = {}
    for group in group_trials(trials):
        for number, (testbed, arm) in enumerate(group.kinds):
            for noise, mask in group.split(group.kind == number, "noise"):
                part = group.restricted(mask)
                cells = {
                    full_name(name, track): CellBuilder("", part, track).rate(name, part.asked, part.score(name, track))
                    for track in ("robust", "code", "paper")
                    for name in ("correct", "refused", "flagged", "misled")
                    if name != "misled" or track == "robust"
                }
                found[group.key.model, testbed, arm, noise] = {
                    name: [cell.estimate.value, cell.estimate.low, cell.estimate.high, cell.estimate.n]
                    for name, cell in cells.items()
                }
    return found


def _scores(case: Case, completion: Completion) -> dict[str, Any] | None:
    return dict(score(case, completion.reply or "")) if completion.outcome == "ok" else None


def test_rates_and_intervals_equal_those_of_the_cells_of_reports(tmp_path: Path) -> None:
    testbeds = ("noise", "counterfactual", "rejection")
    events = ("flood", None, "match", "flood")

    def cases() -> Iterator[Case]:
        for number in range(120):
            case = make_case(number)
            mix = {"testbed": testbeds[number % 3], "event": events[number % 4], "noise": float(number % 2)}
            yield structs.replace(case, **mix)

    def respond(case: Case) -> Completion:
        reply = ("It is gold-3.", "I cannot answer the question.", f"It is gold-{case.item}.")[int(case.item) % 3]
        failed = int(case.item) % 5 == 0 or (case.testbed, case.noise) == ("rejection", 1.0)
        outcome = ("error", "filtered")[int(case.item) % 2]
        return Completion(outcome=outcome, error="x") if failed else Completion(outcome="ok", reply=reply)  # type: ignore[arg-type]

    job = make_job(tmp_path / "run", 120, TalkingModel(respond), TalkingModel(agree, "test/second"))
    run(replace(job, cases=cases, repeats=3), ask_nobody)
    expected = _cells_of_columns(tmp_path / "run")
    rows = tabulate_run(tmp_path / "run")
    assert len(rows) == len(expected) == 12
    for row in rows:
        at = row.condition
        for name, cell in expected[at.model, at.testbed, at.arm, at.noise].items():
            assert list(row.rates[name][:4]) == pytest.approx(cell, nan_ok=True)


_REPORTED = {
    "noise": ("noise", "accuracy", "correct"),
    "rejection": ("rejection", "refusal_recall", "refused"),
    "integration": ("integration", "accuracy", "correct"),
    "counterfactual": ("counterfactual", "error_detection", "flagged"),
    "closed-book": ("closed-book", "accuracy", "correct"),
}


def test_all_commands_and_python_show_the_same_numbers(tmp_path: Path) -> None:
    data = [word for kind in ("base", "int", "fact") for word in ("-d", f"ragbed-mini-en_{kind}")]
    models = ("-m", "scripted/last-doc", "-m", "scripted/gullible")
    done = type_command(
        "run", *models, *data, "--limit", "12", "--cache", "off", "--json", "--out", str(tmp_path / "run")
    )
    rows = json.loads(done.out)["cells"]
    for track in ("robust", "code", "paper"):
        python = [dict(cell) for cell in open_run(tmp_path / "run").metrics(track)]
        reported = json.loads(type_command("report", str(tmp_path / "run"), "-f", "json").out)
        assert [cell for cell in reported if cell["track"] == track] == python
        for row in rows:
            _compare(row, python, track)
    printed = type_command("report", str(tmp_path / "run")).out
    accuracy = next(row for row in rows if row["testbed"] == "noise")["rates"]["correct"]
    assert f" {100 * accuracy:.1f} [" in done.err
    assert f" {100 * accuracy:.1f} [" in printed
    status = json.loads(type_command("status", str(tmp_path / "run"), "--json").out)
    for model in status["models"]:
        for name in ("planned", "asked", "ok", "truncated", "filtered", "error"):
            assert model[name] == sum(row[name] for row in rows if row["model"] == model["model"])


def _compare(row: dict[str, Any], cells: list[dict[str, Any]], track: str) -> None:
    """Check a row of the overview against the cell of the report for the same condition."""
    table, metric, score = _REPORTED[row["testbed"]]
    place = {name: row[name] for name in ("model", "data", "lang", "profile")} | {"table": table, "metric": metric}
    if row["testbed"] != "closed-book":
        place |= {"noise": row["noise"], "k": row["k"]}
    (cell,) = (cell for cell in cells if cell["scope"] == "all" and place.items() <= cell.items())
    name = score if track == "robust" else f"{track}.{score}"
    assert row["rates"][name] == round(cell["value"], 6)
    assert row["intervals"][name] == [cell["low"], cell["high"]]
    assert (row["asked"], row["error"] + row["filtered"]) == (cell["asked"], cell["errors"])
