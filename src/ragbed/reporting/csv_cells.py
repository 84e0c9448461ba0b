"""All cells as CSV, one line each, for a spreadsheet."""

from __future__ import annotations

import csv
import io

from ragbed.reporting.tables import Report
from ragbed.text import printable

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(report: Report) -> str:
    """Every cell of every track."""
    lines = [cell.as_json() for cell in report.cells]
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    if lines:
        writer.writerow(lines[0])
        writer.writerows([_harmless(value) for value in line.values()] for line in lines)
    return sink.getvalue()


def _harmless(value: object) -> object:
    """Text that a spreadsheet would run as a formula is shown instead, and so is what would command a terminal."""
    if not isinstance(value, str):
        return value
    return printable(f"'{value}" if value.startswith(_FORMULA) else value)
