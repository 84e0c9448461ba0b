"""Runs that stop when their conditions are decided."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import ragbed
from ragbed.analysis.overview import tabulate_run
from ragbed.analysis.run_cells import decided_in
from ragbed.analysis.trials.table import TrialTable
from ragbed.errors import DataError, UsageError
from ragbed.models.scripted import ScriptedModel
from ragbed.runs.store import open_store
from ragbed.ui.viewer.queries import RunQueries
from tests.cli.typed import type_command
from tests.runs.harness import make_case
from tests.ui.viewer.test_queries import open_run

DATA = "ragbed-mini-en_base"
OTHER = "ragbed-mini-zh_base"


class Slow:
    """A model that makes one call at a time and counts them; it refuses, or says what a function says."""

    concurrency = 2
    advice = ""

    def __init__(self, name: str = "test/slow") -> None:
        self.name, self.calls = name, 0

    async def identity(self) -> str:
        return "1"

    def request(self, case: ragbed.Case) -> bytes:
        return json.dumps([message.content for message in case.messages]).encode()

    async def complete(self, case: ragbed.Case, repeat: int = 0) -> ragbed.Completion:
        self.calls += 1
        await asyncio.sleep(0)
        return ragbed.Completion(outcome="ok", reply="I can not answer the question.")

    async def close(self) -> None:
        pass


def _run(out: Path, model: Any = None, data: str = DATA, **options: Any) -> ragbed.Run:
    settings: dict[str, Any] = {"testbeds": "noise", "noise": 0.4, "cache": "off", "progress": False}
    return ragbed.run(model or Slow(), data, **{**settings, "out": out, **options})


def test_a_run_stops_when_its_interval_is_narrow_enough_and_resumes_without_a_call(tmp_path: Path) -> None:
    model = Slow()
    run = _run(tmp_path / "r", model, until="noise.accuracy@0.4 +- 30")
    assert model.calls < 60
    assert run.outcomes["pending"] == 60 - model.calls
    (condition,) = run.conditions
    assert condition["state"] == "decided"
    assert "within ± 30 points" in condition["message"]
    (cell,) = (row for row in run.metrics() if row["metric"] == "accuracy")
    assert 0.15 < cell["high"] - cell["value"] <= 0.3  # ± 30 limits each side, not the mean of both sides
    again = Slow()
    resumed = _run(tmp_path / "r", again, until="noise.accuracy@0.4 +- 30")
    assert again.calls == 0
    assert resumed.conditions[0]["state"] == "decided"


def test_other_conditions_need_another_folder(tmp_path: Path) -> None:
    _run(tmp_path / "r", until="noise.accuracy ± 40")
    with pytest.raises(UsageError, match=r"was created with until=noise\.accuracy ± 40"):
        _run(tmp_path / "r", until="noise.accuracy ± 30")


def test_reports_and_tables_of_a_monitored_run_use_its_intervals_and_say_so(tmp_path: Path) -> None:
    run = _run(tmp_path / "r", noise=[0, 0.4], until="noise.accuracy@0.4 ± 40")
    rows = {row["metric"]: row for row in run.metrics() if row["noise"] in (None, 0.4)}
    assert "drop_p" not in rows
    assert rows["accuracy"]["low"] <= rows["auc"]["low"]  # it is based on more trials of the same questions
    assert rows["change"]["low"] < 0 < rows["change"]["high"]
    assert rows["accuracy"]["high"] > 0.1  # an ordinary interval of 0 of 30 ends at 0.11, and here it depends on n
    report = ragbed.report(run, format="md")["text"]
    assert report is not None
    assert "valid at any stopping time" in report
    assert ragbed.report(run, format="csv")["text"]
    page = ragbed.report(run, format="html", out=tmp_path / "report.html")["paths"][0]
    assert "valid at any stopping time" in page.read_text("utf-8")
    assert "valid at any stopping time" in type_command("report", str(run.folder)).err


def test_an_inconclusive_run_exits_with_0_and_lists_its_conditions(tmp_path: Path) -> None:
    words = ("run", "-m", "baseline/lexical", "-d", DATA, "--testbeds", "noise", "--noise", "0.4", "--json")
    typed = type_command(*words, "--until", "noise.accuracy ± 20", "--out", str(tmp_path / "r"))
    assert typed.code == 0, typed.err
    assert "until inconclusive: noise.accuracy" in typed.err
    (condition,) = json.loads(typed.out.splitlines()[-1])["until"]
    assert (condition["condition"], condition["state"]) == ("noise.accuracy ± 20", "inconclusive")


@pytest.mark.parametrize(
    ("until", "message"),
    [
        ("noise.acuracy ± 3", "Did you mean 'accuracy'"),
        ("nosie.accuracy ± 3", "Did you mean 'noise'"),
        ("noise.accuracy@0.3 ± 30", "no case in this run contributes to this metric"),
        ("noise.accuracy@0.4 ± 0", "between 0 and 100"),
        ("noise.accuracy@0.4", 'use "TESTBED.METRIC'),
        ("accurate enough", 'use "TESTBED.METRIC'),
        ("decided", "Set `fail_under`"),
    ],
)
def test_a_wrong_condition_is_refused_before_any_call(until: str, message: str, tmp_path: Path) -> None:
    model = Slow()
    with pytest.raises(UsageError, match=message):
        _run(tmp_path / "r", model, noise=[0, 0.4], until=until)
    assert model.calls == 0
    paired: dict[str, Any] = {"testbeds": "noise,rejection", "noise": [0, 1]}
    with pytest.raises(UsageError, match="balanced_accuracy has no confidence sequence"):
        _run(tmp_path / "r", model, **paired, until="rejection.balanced_accuracy ± 3")


def test_shards_are_refused(tmp_path: Path) -> None:
    model = Slow()
    with pytest.raises(UsageError, match="cannot be combined with `shard`"):
        _run(tmp_path / "e", model, shard="1/2", until="noise.accuracy ± 40")
    assert model.calls == 0


def test_each_model_stops_on_its_own(tmp_path: Path) -> None:
    models = [Slow("test/one"), Slow("test/two")]
    run = _run(tmp_path / "r", models, until="noise.accuracy ± 30")
    assert [row["model"] for row in run.conditions] == ["test/one", "test/two"]
    assert all(model.calls < 60 for model in models)


def test_questions_come_in_an_order_of_the_seed_balanced_over_positions_with_all_their_cases(tmp_path: Path) -> None:
    orders: list[list[tuple[ragbed.Case, int]]] = []
    for seed in (0, 0, 1):
        out = tmp_path / str(len(orders))
        data = [DATA, "ragbed-mini-en_int"]
        out.mkdir()
        job = ragbed.plan_run(
            ragbed.RunSpec(model="scripted/oracle", data=data, testbeds="noise,integration", seed=seed, out=out)
        )
        with open_store(out, create=True) as store:
            store.plan(job.settings, job.cases())
            calls = list(store.pending(1, 2, by_question=True))
        job.close()
        orders.append([(call.case, call.repeat) for call in calls])
    first, same, other = ([case.case for case, _ in order] for order in orders)
    assert first == same
    assert first != other
    questions = list(dict.fromkeys((case.data, case.event or case.item) for case, _ in orders[0]))
    runs = [key for key, after in zip(questions, [*questions[1:], None], strict=True) if key != after]
    assert len(runs) == len(set(runs)), "all cases of a question follow each other"
    part = [case for case, repeat in orders[0] if repeat == 0][: len(first) // 4]
    by_data = Counter(case.data for case in part)
    assert min(by_data.values()) > 0.2 * max(by_data.values())
    noise = Counter(case.noise for case in part if case.testbed == "noise")
    assert max(noise.values()) - min(noise.values()) <= 3
    slots = Counter(case.slots[0] for case in part if case.testbed == "noise" and case.noise == 0.8)
    assert max(slots.values()) - min(slots.values()) <= 4


def test_repeats_of_a_question_are_made_together(tmp_path: Path) -> None:
    run = _run(tmp_path / "r", Slow(), repeats=2, until="noise.accuracy ± 40")
    assert set(Counter(trial["item"] for trial in run.trials()).values()) <= {1, 2, 4}
    assert run.conditions[0]["state"] == "decided"


class Failing(Slow):
    """A model whose calls fail from the third one on."""

    async def complete(self, case: ragbed.Case, repeat: int = 0) -> ragbed.Completion:
        fails = self.calls >= 2
        done = await super().complete(case, repeat)
        return done if not fails else ragbed.Completion(outcome="error", error="server: HTTP 500", attempts=1)


def test_failed_calls_decide_nothing_and_a_rerun_repeats_them(tmp_path: Path) -> None:
    run = _run(tmp_path / "r", Failing(), until="noise.accuracy@0.4 ± 30")
    assert run.outcomes["error"] == 60 - 2
    assert run.conditions[0]["state"] == "inconclusive"
    again = Slow()
    resumed = _run(tmp_path / "r", again, until="noise.accuracy@0.4 ± 30")
    assert 0 < again.calls < 60
    assert resumed.conditions[0]["state"] == "decided"


class FailingOnce(Slow):
    """A model whose third call fails."""

    async def complete(self, case: ragbed.Case, repeat: int = 0) -> ragbed.Completion:
        fails = self.calls == 2
        done = await super().complete(case, repeat)
        return ragbed.Completion(outcome="error", error="server: HTTP 500", attempts=1) if fails else done


def test_questions_after_a_failed_call_wait_for_its_repetition(tmp_path: Path) -> None:
    (condition,) = _run(tmp_path / "r", FailingOnce(), until="noise.accuracy@0.4 ± 30").conditions
    assert condition["state"] == "inconclusive"
    assert "a call failed" in condition["message"]
    again = Slow()
    assert _run(tmp_path / "r", again, until="noise.accuracy@0.4 ± 30").conditions[0]["state"] == "decided"
    assert again.calls == 1


class Improving(Slow):
    """A model whose calls are all in flight at once. It refuses at first, and later knows every answer."""

    concurrency = 60
    refusals = 35

    async def complete(self, case: ragbed.Case, repeat: int = 0) -> ragbed.Completion:
        refuses = self.calls < self.refusals
        done = await super().complete(case, repeat)
        return done if refuses else await ScriptedModel("memory").complete(case, repeat)


def test_a_report_shows_the_current_interval_and_keeps_the_decision(tmp_path: Path) -> None:
    model = Improving()
    model.refusals = 48
    until = "noise.accuracy@0.4 ± 30"
    run = _run(tmp_path / "r", model, until=until)
    assert run.outcomes == {"ok": 60}
    (condition,) = run.conditions
    assert condition["state"] == "decided"
    (decided,) = decided_in(run.folder)
    (row,) = tabulate_run(run.folder)
    (cell,) = (row for row in run.metrics() if row["metric"] == "accuracy")
    assert decided.last is not None
    assert (cell["low"], cell["high"]) == (row.rates["correct"].low, row.rates["correct"].high)
    assert (decided.last.low, decided.last.high) == (cell["low"], cell["high"]) != (decided.low, decided.high)
    assert _run(tmp_path / "r", Slow(), until=until).conditions == run.conditions
    ragbed.export(run, "archive", tmp_path / "c.zip")
    ragbed.import_results(tmp_path / "c.zip", "archive", tmp_path / "imported")
    ragbed.merge([run, _run(tmp_path / "other", Slow("test/other"), until=until)], tmp_path / "merged")
    for folder in (tmp_path / "imported", tmp_path / "merged"):
        assert decided in decided_in(folder)
    reader = open_run(run.folder)
    (shown,) = RunQueries({"r": reader}).overview("robust")
    reader.close()
    assert shown.rates["correct"][1:] == (cell["low"], cell["high"])


def test_the_largest_planned_cluster_is_an_event_or_a_question_under_one_condition(tmp_path: Path) -> None:
    made = [replace(make_case(number), event="e" if number < 3 else None) for number in range(5)]
    other = [replace(case, noise=0.8, case=f"{case.case},other") for case in made[:1]]
    infeasible = [replace(case, feasible=False, case=f"{case.case},infeasible") for case in made]
    for until, largest in (({"until": "noise.accuracy ± 40"}, 6), ({}, 0)):
        folder = tmp_path / str(largest)
        folder.mkdir()
        with open_store(folder, create=True) as store:
            store.plan({"repeats": "2"} | until, [*made, *other, *infeasible])
        with TrialTable(folder) as table:
            table.update()
            assert table.largest_cluster() == largest


def test_a_damaged_decision_is_an_error(tmp_path: Path) -> None:
    run = _run(tmp_path / "r", until="noise.accuracy ± 40")
    with open_store(run.folder, create=True) as store, store.transaction() as connection:
        connection.execute("UPDATE meta SET value = '{' WHERE key GLOB 'decided.*'")
    with pytest.raises(DataError, match=r"the decision decided\.\w+ is damaged"):
        ragbed.report(run)


def test_a_gate_names_a_decision_that_its_current_value_contradicts(tmp_path: Path) -> None:
    (gate,) = _run(tmp_path / "r", Improving(), until="decided", fail_under="noise.accuracy@0.4=0.4").gates
    assert gate["state"] == "failed"
    value, low, high, *_, first, last = map(float, re.findall(r"[\d.]+", gate["message"]))
    assert low <= value <= high
    assert first < last < 40 < value
