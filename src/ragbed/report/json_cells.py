"""All cells as JSON: a list, which every other format is drawn from."""

from __future__ import annotations

import msgspec

from ragbed.report.tables import Report


def write(report: Report) -> str:
    """Every cell of every track."""
    encoded = msgspec.json.encode([cell.as_json() for cell in report.cells])
    return msgspec.json.format(encoded, indent=1).decode() + "\n"
