"""Text formats for reports.

To add a format, write a function that converts a `Report` to text, and register it in `FORMATS`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import msgspec

from ragbed.reporting import latex, markdown
from ragbed.reporting.tables import Report
from ragbed.text import printable

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_csv(report: Report) -> str:
    """Return the cells of all scorers as CSV, with one line for each cell and each stopping condition."""
    lines = report.records()
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    if lines:
        names = list(dict.fromkeys(name for line in (lines[0], lines[-1]) for name in line))
        writer.writerow(names)
        writer.writerows([_harmless(line.get(name)) for name in names] for line in lines)
    return sink.getvalue()


def _harmless(value: object) -> object:
    """Escape control characters, and text that a spreadsheet would execute as a formula."""
    if not isinstance(value, str):
        return value
    return printable(f"'{value}" if value.startswith(_FORMULA) else value)


def write_json(report: Report) -> str:
    """Return the cells of all scorers and the stopping conditions as a JSON list."""
    encoded = msgspec.json.encode(report.records())
    # Control characters are escaped as in JSON, so that names are unchanged when they are read back.
    return printable(msgspec.json.format(encoded, indent=1).decode()) + "\n"


FORMATS: dict[str, Callable[[Report], str]] = {
    "md": markdown.write,
    "latex": latex.write,
    "csv": write_csv,
    "json": write_json,
}
