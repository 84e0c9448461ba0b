"""Every consumer of results counts the same trials as right: those that the testbed declares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import cast, get_args

import pytest
from msgspec import structs

from ragbed.analysis.comparison import open_side
from ragbed.analysis.diagnosis.summary import diagnose_trial
from ragbed.analysis.metrics.prompting import WANTED
from ragbed.analysis.overview import ConditionRow
from ragbed.analysis.run_cells import read_report_cells
from ragbed.data import Dataset
from ragbed.data.catalog import open_data
from ragbed.data.native import to_line
from ragbed.interop.exports import frozen
from ragbed.interop.exports.harness_tasks import task_yaml
from ragbed.reporting.summary import COLUMNS
from ragbed.runs.condition import Condition
from ragbed.runs.execution import run
from ragbed.runs.store import open_store
from ragbed.schema import Case, Completion, Expectation, GivenDocument
from ragbed.scoring import score_outcome
from ragbed.testbeds import TESTBEDS, headline_score, right_score, wanted_scores
from ragbed.testbeds.prompts import FLAG, REFUSAL
from ragbed.testbeds.settings import Settings
from ragbed.ui.viewer.queries import RunQueries
from ragbed.ui.viewer.run_reader import RunReader
from tests.runs.harness import TalkingModel, ask_nobody, make_case, make_job

_PER_TESTBED = 24
_METRICS = {
    "noise": "accuracy",
    "rejection": "refusal_recall",
    "integration": "accuracy",
    "counterfactual": "accuracy",
    "closed-book": "accuracy",
    "given": "expected",
}
_SCORES = {"accuracy": "correct", "refusal_recall": "refused"}


def _datasets(folder: Path) -> list[Dataset]:
    datasets = open_data([f"ragbed-mini-en_{kind}" for kind in ("base", "int", "fact")])
    given = [
        structs.replace(
            item,
            passages=(),
            documents=tuple(GivenDocument(text=one.text, stance=one.stance) for one in item.passages[:2]),
            expect=expect,
        )
        for item, expect in zip(datasets[0].items(), get_args(Expectation) * _PER_TESTBED, strict=False)
    ]
    (folder / "given.jsonl").write_bytes(b"".join(map(to_line, given)))
    return [*datasets, Dataset("given", folder / "given.jsonl")]


def _cases(folder: Path) -> Iterator[Case]:
    """A few cases of every built-in testbed, with one condition each."""
    datasets = _datasets(folder)
    for testbed in TESTBEDS.values():
        cases = (case for data in datasets for case in testbed.cases(data, Settings(num_docs=(2,))))
        first = next(case for case in cases if case.feasible)
        yield from islice(
            (
                case
                for case in (first, *cases)
                if case.feasible and (case.data, case.noise) == (first.data, first.noise)
            ),
            _PER_TESTBED,
        )


def _respond(case: Case) -> Completion:
    """One of five kinds of responses, which differ in the scores that are true."""
    gold = " and ".join(aliases[0] for aliases in case.answer)
    fake = " and ".join(aliases[0] for aliases in case.fake or case.answer)
    kinds = (gold, REFUSAL["en"], f"{FLAG['en']} {gold}", fake, FLAG["en"])
    return Completion(outcome="ok", reply=kinds[sum(case.item.encode()) % len(kinds)], finish="stop")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with every testbed and every kind of response."""
    made = tmp_path_factory.mktemp("run")
    run(make_job(made, 1, TalkingModel(_respond), cases=partial(_cases, made)), ask_nobody)
    return made


def _right_by_declaration(folder: Path) -> dict[str, list[bool]]:
    right = defaultdict(list)
    with open_store(folder, create=False) as store:
        for stored in store.results():
            values = score_outcome(stored.case, stored.completion) or {}
            right[stored.case.testbed].append(values[TESTBEDS[stored.case.testbed].headline] is True)
    return right


def test_every_testbed_has_right_and_wrong_trials(folder: Path) -> None:
    right = _right_by_declaration(folder)
    assert set(right) == set(TESTBEDS)
    assert all(len(set(values)) == 2 for values in right.values())


def test_the_comparison_counts_the_declared_trials(folder: Path) -> None:
    expected = {testbed: sum(values) for testbed, values in _right_by_declaration(folder).items()}
    counted: dict[str, float] = defaultdict(float)
    for condition, questions in open_side(str(folder), "robust").scores.items():
        counted[condition.testbed] += sum(questions.values())
    assert counted == expected


def test_the_diagnosis_counts_the_declared_trials(folder: Path) -> None:
    right = defaultdict(list)
    with open_store(folder, create=False) as store:
        for stored in store.results():
            values = score_outcome(stored.case, stored.completion)
            right[stored.case.testbed].append(diagnose_trial(stored, values) is None)
    assert right == _right_by_declaration(folder)


def test_the_report_counts_the_declared_trials(folder: Path) -> None:
    cells = {
        (cell.table, cell.estimate.metric): cell.estimate.value
        for cell in read_report_cells([folder], ["robust"])
        if cell.scope == "all"
    }
    expected = _right_by_declaration(folder)
    assert {table: cells[table, metric] for table, metric in _METRICS.items()} == {
        table: pytest.approx(sum(expected[table]) / len(expected[table])) for table in _METRICS
    }


def test_the_viewer_highlights_the_declared_scores() -> None:
    conditions = [("data", "en", name, None, 0.0, 0, "related", "robust") for name in TESTBEDS]
    overview = [ConditionRow(Condition("model", *condition)) for condition in conditions]
    reader = SimpleNamespace(name="run", overview=overview)
    rows = RunQueries({"run": cast("RunReader", reader)}).overview("robust")
    shown = {row.testbed: row.wanted for row in rows}
    assert shown == {name: (testbed.headline, *testbed.secondary) for name, testbed in TESTBEDS.items()}


def test_leaderboard_strategies_and_exports_use_the_declared_scores() -> None:
    for column in COLUMNS:
        if column.metric in _SCORES:
            assert _SCORES[column.metric] == headline_score(column.table)
    assert {name: headline_score(name) for name in WANTED} == WANTED
    for name in TESTBEDS:
        part = frozen.TestbedPart(
            name=f"en_{name}", lang="en", testbed=name, cases=1, sha256="", conditions=("noise=0",)
        )
        task = task_yaml("task", part, "metadata: {version: 1}")
        better = [line for line in task.splitlines() if "higher_is_better: true" in line]
        assert all(
            f"metric: {score}, aggregation: mean, higher_is_better: true" in task for score in wanted_scores(name)
        )
        assert len(better) == 3 * len(wanted_scores(name))


def test_a_case_of_a_plug_in_decides_what_is_right() -> None:
    case = structs.replace(make_case(0), testbed="plug-in")
    assert right_score(case.testbed, case.arm, case.expect) == "correct"
    assert right_score(case.testbed, case.arm, "refuse") == "refused"
