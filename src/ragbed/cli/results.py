"""The tables of a run, as commands print them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragbed.run.tables import Cell

SCORES = {
    "noise": ("accuracy", "correct"),
    "rejection": ("rejection", "refused"),
    "integration": ("accuracy", "correct"),
    "counterfactual": ("error detection", "flagged"),
    "closed-book": ("accuracy", "correct"),
}
"""What a testbed is about, as the paper has it: the score's name, and what counts."""


def read_cells(folder: Path) -> list[Cell]:
    """Adds up what a run holds."""
    from ragbed.run.scoring import tabulate_run

    return tabulate_run(folder)


def print_cells(cells: Sequence[Cell], *, to_stderr: bool) -> None:
    """Prints one table a model and dataset: what was asked, what failed, and the share of all that was asked."""
    from ragbed.cli.console import print_table, say

    columns = ("testbed", "lang", "noise", "asked", "errors", "score", "code %", "paper %", "robust %")
    tables: dict[str, list[tuple[object, ...]]] = {}
    for cell in cells:
        name, counted = SCORES[cell.testbed]
        noise = "–" if cell.noise is None else f"{cell.noise:.3g}"
        rates = [f"{100 * cell.rate(f'{track}{counted}'):.1f}" for track in ("code.", "paper.", "")]
        asked = cell.asked if cell.asked == cell.planned else f"{cell.asked} of {cell.planned}"
        row = (cell.testbed, cell.lang, noise, asked, cell.error + cell.refused, name, *rates)
        tables.setdefault(f"{cell.model} on {cell.data}, profile {cell.profile}", []).append(row)
    for title, rows in tables.items():
        print_table(title, columns, rows, to_stderr=to_stderr)
    if unscored := sum(cell.unscored for cell in cells):
        say(f"{unscored:,} replies are in no robust rate: their cases' answers cannot be matched. See ragbed lint.")
