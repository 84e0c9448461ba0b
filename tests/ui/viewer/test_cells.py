"""Trials are filtered by the number and the share of true documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from ragbed.schema import Case, Completion
from ragbed.ui.viewer.queries import RunQueries, TrialQuery
from tests.runs.harness import make_case
from tests.ui.viewer.runs import write_run
from tests.ui.viewer.test_queries import open_run


def show_facets(folder: Path, case: Case) -> dict[str, dict[str, int]]:
    write_run(folder / "run", [case], {"made/up": [Completion(outcome="ok", reply="gold-1")]})
    reader = open_run(folder / "run")
    facets = RunQueries({"run": reader}).list_trials(TrialQuery(), 0).facets
    reader.close()
    return facets


@pytest.mark.parametrize(("testbed", "values"), [("conflict", ["0.4"]), ("counterfactual", ["0.4"]), ("noise", [])])
def test_the_share_of_true_documents_is_a_filter_where_it_applies(
    tmp_path: Path, testbed: str, values: list[str]
) -> None:
    facets = show_facets(tmp_path, structs.replace(make_case(1), testbed=testbed, true_ratio=0.4))
    assert list(facets["true"]) == values


@pytest.mark.parametrize(("noise", "values"), [(0.99, ["100"]), (None, [])])
def test_the_number_of_documents_is_a_filter_where_there_are_any(
    tmp_path: Path, noise: float | None, values: list[str]
) -> None:
    facets = show_facets(tmp_path, structs.replace(make_case(1), testbed="length", noise=noise, k=100))
    assert list(facets["docs"]) == values
