"""Texts for the error table, shared by the terminal, Markdown and HTML output."""

from __future__ import annotations

from collections.abc import Iterable

from ragbed.analysis.diagnosis.summary import UNCLASSIFIED, ErrorRow
from ragbed.analysis.locale import Locale
from ragbed.reporting.pages.charts.layout import format_share

COUNT_COLUMNS = 6  # Number of leading columns that describe the error type; the remaining columns contain the example.
_LONGEST = 160  # Maximum number of characters of a question or response to show; the case browser shows the full text.


def error_columns(words: Locale) -> tuple[str, ...]:
    """Return the column headings for the rows that `tell_errors` returns."""
    names = ("table", "model", "data", "type", "share", "wrong", "question", "answer", "reply", "why")
    return tuple(words(f"error_table.{name}") for name in names)


def tell_errors(rows: Iterable[ErrorRow], words: Locale) -> list[tuple[str, ...]]:
    """Return one row per error type, with an example."""
    names = words.section("errors")
    shown: list[tuple[str, ...]] = []
    for row in rows:
        name, _, wrong, interval = row.type
        kind = names[name] if name == UNCLASSIFIED else f"{name} {names[name]}"
        share = format_share(interval.value, *interval.bounds)
        example = (_clip(row.question), _clip(row.answer), _clip(row.reply), _clip(row.why[words.lang] or "–"))
        shown.append((str(row.table), row.model, row.data, kind, share, str(wrong), *example))
    return shown


def _clip(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 1]}…"
