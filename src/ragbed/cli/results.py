"""The tables of a run, as commands print them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragbed.run.tables import Cell

_SCORES = {
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


def print_cells(cells: Sequence[Cell], title: str, *, to_stderr: bool) -> None:
    """Prints one row a condition: outcomes first, then the share of what was asked, in per cent."""
    from ragbed.cli.console import print_table

    columns = ("model", "data", "testbed", "lang", "noise", "asked", "errors", "score", "code %", "paper %")
    rows = []
    for cell in cells:
        name, counted = _SCORES[cell.testbed]
        noise = "–" if cell.noise is None else f"{cell.noise:.3g}"
        rates = [f"{100 * cell.rate(f'{track}.{counted}'):.1f}" for track in ("code", "paper")]
        failed = cell.error + cell.refused
        rows.append((cell.model, cell.data, cell.testbed, cell.lang, noise, cell.asked, failed, name, *rates))
    print_table(title, columns, rows, to_stderr=to_stderr)
