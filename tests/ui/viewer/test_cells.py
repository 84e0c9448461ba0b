"""Trials are filtered by the number and the share of true documents, and by confidence."""

from __future__ import annotations

import pytest
from msgspec import structs

from ragbed.runs.rows import StoredResult
from ragbed.schema import Completion
from ragbed.ui.viewer.cells import cell_of, facet_values
from tests.runs.harness import make_case


@pytest.mark.parametrize(("testbed", "values"), [("conflict", ("0.4",)), ("counterfactual", ("0.4",)), ("noise", ())])
def test_the_share_of_true_documents_is_a_filter_where_it_applies(testbed: str, values: tuple[str, ...]) -> None:
    case = structs.replace(make_case(1), testbed=testbed, true_ratio=0.4)
    found = facet_values(cell_of(StoredResult(case, "made/up", 0, Completion(outcome="ok", reply="gold-1"))))
    assert found["true"] == values


@pytest.mark.parametrize(("noise", "values"), [(0.99, ("100",)), (None, ())])
def test_the_number_of_documents_is_a_filter_where_there_are_any(noise: float | None, values: tuple[str, ...]) -> None:
    case = structs.replace(make_case(1), testbed="length", noise=noise, k=100)
    found = facet_values(cell_of(StoredResult(case, "made/up", 0, Completion(outcome="ok", reply="gold-1"))))
    assert found["docs"] == values


@pytest.mark.parametrize(
    ("confidence", "values"),
    [(None, ()), (0.0, ("0.0–0.1",)), (0.85, ("0.8–0.9",)), (1.0, ("0.9–1.0",)), ("no-logprobs", ("no-logprobs",))],
)
def test_confidence_is_a_filter(confidence: float | str | None, values: tuple[str, ...]) -> None:
    done = Completion(outcome="ok", reply="gold-1", confidence=confidence)
    assert facet_values(cell_of(StoredResult(make_case(1), "made/up", 0, done)))["confidence"] == values
