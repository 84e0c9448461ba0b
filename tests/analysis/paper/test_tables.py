"""The paper's figures: the counts behind the percentages, and the documentation pages that list them."""

from __future__ import annotations

import pytest

from benches import ROOT
from ragbed.analysis.paper.tables import CountOf, count_behind, inferred_rows, read_tables


@pytest.mark.parametrize(
    ("percent", "n", "count"),
    [
        (96.33, 300, (289, 300)),
        (67.68, 300, (201, 297)),
        (3.37, 300, (10, 297)),
        (33.33, 3, (1, 3)),
        (55, 100, (55, 100)),
    ],
)
def test_percentages_are_whole_numbers_of_questions(percent: float, n: int, count: tuple[int, int]) -> None:
    assert count_behind(percent, n) == CountOf(*count)


def test_an_impossible_percentage_is_refused() -> None:
    with pytest.raises(ValueError, match=r"rounds to 50\.01%"):
        count_behind(50.01, 10)


def test_exactly_two_rows_lost_three_questions() -> None:
    assert inferred_rows("noise") == {("zh", "BELLE-7B-2M")}
    assert inferred_rows("rejection") == {("zh", "Vicuna-7B-v1.3")}
    assert inferred_rows("integration") == inferred_rows("counterfactual") == frozenset()


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
