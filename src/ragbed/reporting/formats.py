"""Text formats for reports.

To add a format, write a function that converts a `Report` to text, and register it in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ragbed.analysis.locale import Locale, read_words
from ragbed.reporting.result_tables import tabulate_decisions, tabulate_errors
from ragbed.reporting.summary import group_findings, summarise
from ragbed.reporting.table import Table, escape_markdown, write_csv, write_json, write_markdown
from ragbed.reporting.tables import Report


class ReportText(NamedTuple):
    """A paragraph of a report. `is_note` is set if it explains numbers, which the terminal shows on standard error."""

    text: str
    lead: str = ""  # Words before the text, e.g. the model's name.
    is_note: bool = False


def arrange(report: Report, words: Locale) -> Iterator[ReportText | Table]:
    """Yield the parts of a text report in order."""
    yield from (ReportText("", note) for note in report.notes(words))
    if report.is_monitored:
        yield ReportText(words("page.monitored"), is_note=True)
        if report.conditions:
            yield tabulate_decisions(report.conditions, report.names, words)
    for model, found in group_findings(summarise(report.shown, report.scorer, words)).items():
        for lang, texts in found.items():
            yield ReportText(" ".join(texts), f"{model} ({lang})" if lang else model)
    yield from (table.as_table(words) for table in report.tables)
    yield from (ReportText(words(f"page.{note}"), is_note=True) for note in report.table_notes)
    if report.errors:
        yield tabulate_errors(report.errors, words)


def _write_markdown(report: Report) -> str:
    parts = ["# Report", f"Runs: {', '.join(map(escape_markdown, report.runs))}. Scorer: {report.scorer}."]
    for part in arrange(report, read_words("en")):
        if isinstance(part, Table):
            parts += [f"## {escape_markdown(part.title)}", *part.notes, write_markdown(part)]
        elif part.lead:
            lead = f"**{escape_markdown(part.lead)}**"
            parts.append(f"{lead}: {escape_markdown(part.text)}" if part.text else lead)
        else:
            parts.append(part.text.replace("*", "\\*"))
    return "\n\n".join(parts) + "\n"


# CSV and JSON have the cells of all scorers and the stopping conditions, one per line.
FORMATS: dict[str, Callable[[Report], str]] = {
    "md": _write_markdown,
    "csv": lambda report: write_csv(report.records()),
    "json": lambda report: write_json(report.records()),
}
