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
    from ragbed.run.store import open_store
    from ragbed.run.tables import tabulate

    with open_store(folder, create=False) as store:
        return tabulate(store.results())


def print_cells(cells: Sequence[Cell], *, to_stderr: bool) -> None:
    """Prints one table a model and dataset: what was asked, what failed, and the share of all that was asked."""
    from ragbed.cli.console import print_table, say

    columns = ("testbed", "lang", "noise", "asked", "errors", "score", "code %", "paper %", "robust %")
    tables: dict[str, list[tuple[object, ...]]] = {}
    for cell in cells:
        name, counted = SCORES[cell.testbed]
        noise = "–" if cell.noise is None else f"{cell.noise:.3g}"
        rates = [f"{100 * cell.rate(f'{track}{counted}'):.1f}" for track in ("code.", "paper.", "")]
        row = (cell.testbed, cell.lang, noise, cell.asked, cell.error + cell.refused, name, *rates)
        tables.setdefault(f"{cell.model} on {cell.data}, profile {cell.profile}", []).append(row)
    for title, rows in tables.items():
        print_table(title, columns, rows, to_stderr=to_stderr)
    if unscored := sum(cell.unscored for cell in cells):
        say(f"{unscored:,} replies belong to cases whose answer cannot be matched and are in no robust rate; ragbed lint.")
