"""Models with a known policy reach the values of the conflict testbed that follow from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

import ragbed
from ragbed.analysis.locale import read_words
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.run_cells import read_report_cells
from ragbed.data.catalog import open_data
from ragbed.errors import UsageError
from ragbed.reporting.figures import make_figures
from ragbed.reporting.tables import make_report
from ragbed.schema import Case
from ragbed.testbeds.conflict import CONFLICT, STRENGTHS
from ragbed.testbeds.prompts import REFUSAL
from ragbed.testbeds.settings import Settings

Policy = Callable[[Case, int], str]
_WRONG = {"en": "Zubrowka Vale", "zh": "祖布罗夫卡谷"}


def _prior(case: Case, repeat: int) -> str:
    """Answer half of the questions correctly and the others wrongly; one of three responses differs."""
    if repeat == 2:
        return REFUSAL[case.lang]
    return case.answer[0][0] if (int(case.item.rpartition("-")[2]) % 2 == 0) else _WRONG[case.lang]


def _context(case: Case, repeat: int) -> str:
    """Return the answer that most documents give; without documents, the prior."""
    if not case.documents:
        return _prior(case, repeat)
    false = sum(document.stance == "contradicts" for document in case.documents)
    answer = case.fake if case.fake and 2 * false > len(case.documents) else case.answer
    return answer[0][0]


POLICIES: dict[str, Policy] = {
    "memory": lambda case, repeat: _prior(case, repeat if not case.documents else 0),
    "context": _context,
}


class PolicyModel:
    """Follows a policy; the repeats of a question can differ."""

    concurrency, advice = 8, ""

    def __init__(self, name: str) -> None:
        self.name, self._reply = f"policy/{name}", POLICIES[name]

    async def complete(self, case: Case, repeat: int = 0) -> ragbed.Completion:
        return ragbed.Completion(outcome="ok", reply=self._reply(case, repeat))

    def request(self, case: Case) -> bytes:
        return case.case.encode()

    async def identity(self) -> str:
        return self.name

    async def close(self) -> None:
        pass


def _values(cells: list[Cell], model: str, scope: str = "all") -> dict[tuple[str, float | None], float | None]:
    return {
        (cell.estimate.metric, cell.place.get("correct")): cell.estimate.value
        for cell in cells
        if (cell.table, cell.scope, cell.key.model) == ("conflict", scope, model)
    }


@pytest.fixture(scope="module", params=["en", "zh"])
def cells(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Cell]:
    folder = tmp_path_factory.mktemp("conflict") / "run"
    ragbed.run(
        [PolicyModel("memory"), PolicyModel("context")], f"ragbed-mini-{request.param}_fact", testbeds="conflict",
        true_ratio="0.2,0.4,0.6,0.8", repeats=3, limit=12, out=folder,
    )  # fmt: skip
    return read_report_cells([folder], ["robust"])


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("policy/memory", {"prior_bias": 1, "context_bias": 0, "conflict_accuracy": 0.5}),
        ("policy/context", {"prior_bias": 0, "context_bias": 1, "conflict_accuracy": 0.5}),
    ],
)
def test_policies_reach_their_analytic_values(cells: list[Cell], model: str, expected: dict[str, float]) -> None:
    found = _values(cells, model)
    shares = {"prior_right": 0.5, "prior_wrong": 0.5, "prior_none": 0}
    of_context = {f"context_bias_{name}": expected["context_bias"] for name in STRENGTHS}
    for metric, value in (expected | shares | of_context).items():
        assert found[metric, None] == pytest.approx(value), metric


def test_the_dose_response_has_a_curve_for_each_prior(cells: list[Cell]) -> None:
    memory, context = _values(cells, "policy/memory"), _values(cells, "policy/context")
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1):
        assert memory["accuracy_prior_right", share] == 1
        assert memory["accuracy_prior_wrong", share] == 0
        assert context["accuracy_prior_wrong", share] == context["accuracy_prior_right", share] == float(share > 0.5)


def test_the_report_has_the_tables_and_the_figure(cells: list[Cell]) -> None:
    tables = {table.name: table for table in make_report(["run"], cells, "robust").tables}
    assert {"conflict", "conflict prior"} <= tables.keys()
    assert [column.heading for column in tables["conflict prior"].columns] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert {row.condition for row in tables["conflict prior"].rows} == {(("prior", "right"),), (("prior", "wrong"),)}
    (chart,) = [one for one in make_figures(cells, "robust", read_words("zh")) if one.name.startswith("conflict")]
    assert {row[0] for row in chart.rows} == {
        f"policy/{name}，先验{prior}" for name in POLICIES for prior in ("正确", "错误")
    }


def test_the_testbed_always_has_only_true_and_only_false_documents() -> None:
    settings = Settings(correct=(Fraction(2, 5),), limit=2)
    cases = list(CONFLICT.cases(open_data(["ragbed-mini-en_fact"])[0], settings))
    assert [case.true_ratio for case in cases] == [0.0, 0.4, 1.0] * 2
    for case in cases:
        assert sum(document.stance == "supports" for document in case.documents) == round(5 * case.true_ratio)
        kinds = {document.kind for document in case.documents if document.stance == "contradicts"}
        assert len(kinds) == (case.true_ratio < 1)
        assert kinds <= set(STRENGTHS)


def test_noise_is_refused_and_closed_book_runs_as_well() -> None:
    spec = ragbed.RunSpec(model="scripted/oracle", data="ragbed-mini-en_fact", testbeds="conflict", limit=1)
    with pytest.raises(UsageError, match="conflict accepts only the ratio 0"):
        ragbed.plan_run(replace(spec, noise=0.2))
    assert {case.testbed for case in ragbed.plan_run(spec).cases()} == {"conflict", "closed-book"}
