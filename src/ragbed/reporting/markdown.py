"""Write a report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ragbed.analysis.locale import Locale, read_words
from ragbed.reporting.decision_texts import decision_columns, tell_decisions
from ragbed.reporting.error_texts import error_columns, tell_errors
from ragbed.reporting.numbers import show, show_asked
from ragbed.reporting.summary import summarise
from ragbed.reporting.tables import Report, ReportTable
from ragbed.text import printable

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


def write(report: Report) -> str:
    """Return a report's summary and tables as Markdown."""
    parts = ["# Report", "", f"Runs: {', '.join(map(_plain, report.runs))}. Scorer: {report.scorer}.", ""]
    words = read_words("en")
    for note in report.notes(words):
        parts += [f"**{_plain(note)}**", ""]
    if report.is_monitored:
        parts += [words("page.monitored"), "", *_decisions(report, words)]
    for one in summarise(report.shown, report.scorer, words):
        parts += [f"**{_plain(one.model)}**{f' ({one.lang})' if one.lang else ''}: {_plain(one.text)}", ""]
    for table in report.tables:
        parts += [f"## {table.title}", "", *_table(table), ""]
    parts += [
        _SPECIAL.sub(r"\\\1", words("page.rates")),
        *(words(f"page.{note}") for note in report.table_notes),
        "",
        *_errors(report, words),
    ]
    return "\n".join(parts)


def _decisions(report: Report, words: Locale) -> Iterator[str]:
    if report.conditions:
        yield from (f"## {words('decisions.heading')}", "")
        yield from _text_table(decision_columns(words), tell_decisions(report.conditions, report.names, words))
        yield ""


def _errors(report: Report, words: Locale) -> Iterator[str]:
    if report.errors:
        yield from (f"## {words('error_table.heading')}", "", words("error_table.note"), "")
        yield from _text_table(error_columns(words), tell_errors(report.errors, words))
        yield ""


def _table(table: ReportTable) -> Iterator[str]:
    head = ["model", "data", "lang", "documents", "n", *(column.heading for column in table.columns)]
    yield _row(head)
    yield _row([":--"] * 4 + ["--:"] * (len(head) - 4))
    for row in table.rows:
        model = _plain(row.key.model) + (" †" if row.comparable else "")
        cells = [show(cell, column, few="\\*") for cell, column in zip(row.cells, table.columns, strict=True)]
        n = show_asked(row.counts)
        yield _row([model, _plain(row.data), row.key.lang, str(row.docs or "–"), n, *cells])


def _text_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield from (_row(columns), _row([":--"] * len(columns)))
    yield from (_row([_plain(cell) for cell in row]) for row in rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """Escape a name, so that it contains no markup or line breaks."""
    return _SPECIAL.sub(r"\\\1", printable(" ".join(text.split())))
