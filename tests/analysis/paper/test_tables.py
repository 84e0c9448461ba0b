"""The paper's figures, and the documentation pages that list them."""

from __future__ import annotations

import pytest

from benches import ROOT
from ragbed.analysis.paper.tables import INFERRED, read_tables


def test_exactly_two_rows_have_percentages_that_no_count_of_all_questions_gives() -> None:
    tables = read_tables()
    found = {
        (name, lang, model)
        for name in ("noise", "rejection", "integration")
        for lang, model, values in getattr(tables, name).rows()
        for n in [tables.questions[name]]
        if any(round(100 * round(value * n / 100) / n, 2) != value for value in values)
    }
    assert found == INFERRED


@pytest.mark.parametrize("page", ["docs/reference/paper-tables.md", "docs/zh/paper-tables.md"])
def test_the_pages_list_every_value(page: str) -> None:
    shown = {line.removesuffix(" |") for line in (ROOT / page).read_text("utf-8").splitlines() if line[:2] == "| "}
    tables = read_tables()
    for table in (tables.noise, tables.rejection, tables.integration, tables.counterfactual):
        exact = table in (tables.noise, tables.rejection)
        for lang, model, values in table.rows():
            cells = [
                f"{value:.2f}" if exact or column == "CR" else f"{value:.0f}"
                for column, value in zip(table.columns, values, strict=True)
            ]
            assert " | ".join([f"| {model}", lang, *cells]) in shown
