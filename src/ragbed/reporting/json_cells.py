"""All cells as JSON: a list, which every other format is drawn from."""

from __future__ import annotations

import msgspec

from ragbed.reporting.tables import Report
from ragbed.text import printable


def write(report: Report) -> str:
    """Every cell of every track."""
    encoded = msgspec.json.encode([cell.as_json() for cell in report.cells])
    # What would command a terminal is escaped as JSON has it, so that the names stay what they are.
    return printable(msgspec.json.format(encoded, indent=1).decode()) + "\n"
