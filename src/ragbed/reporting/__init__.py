"""Reports: from stored runs to tables that can be pasted, and to files that others can read.

`reading` makes cells from runs, `tables` arranges them, and one file a format writes them. To add a format: a function
from a `Report` to text, and one line in FORMATS.
"""

from __future__ import annotations

from collections.abc import Callable

from ragbed.reporting import csv_cells, json_cells, latex, markdown
from ragbed.reporting.tables import Report

FORMATS: dict[str, Callable[[Report], str]] = {
    "md": markdown.write,
    "latex": latex.write,
    "csv": csv_cells.write,
    "json": json_cells.write,
}
