"""Tables as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragbed.analysis.claims import MIN_QUESTIONS
from ragbed.analysis.locale import read_words
from ragbed.reporting.claim_texts import (
    evidence_columns,
    most_telling,
    split_findings,
    tell_claims,
    tell_evidence,
    tell_finding,
)
from ragbed.reporting.numbers import FEW, show, show_asked
from ragbed.reporting.summary import summarise
from ragbed.reporting.tables import Report, ReportTable
from ragbed.text import printable

_MOST_EVIDENCE = 6
"""Of a claim; the HTML report has all."""
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")


def write(report: Report) -> str:
    """All tables, with what is needed to read them."""
    parts = ["# Report", "", f"Runs: {', '.join(map(_plain, report.runs))}. Track: {report.track}.", ""]
    parts += _summary(report)
    for table in report.tables:
        parts += [f"## {table.title}", "", *_table(table), ""]
    parts += [
        "Rates are per cent of what was asked, failures included, with 95 % intervals by question.",
        f"\\* fewer than {FEW} cases. † comparable with the paper: its files, its layout, its way of counting.",
        "",
        *_claims(report),
    ]
    return "\n".join(parts)


def _summary(report: Report) -> Iterator[str]:
    words = read_words("en")
    for one in summarise(report.shown, report.track, words):
        yield f"**{_plain(one.model)}**{f' ({one.lang})' if one.lang else ''}: {_plain(one.text)}"
        yield ""


def _claims(report: Report) -> Sequence[str]:
    words = read_words("en")
    decided, unclear, missing = split_findings(report.findings)
    lines = [f"## {words('claims.heading')}", ""]
    lines += [words("claims.note", minimum=MIN_QUESTIONS), ""] if decided or unclear else []
    for finding in decided:
        claim, says, verdict, rests = tell_finding(finding, words)
        lines += [f"* **{claim}** {says} *{verdict}*: {rests}"]
    lines += [f"* {line}" for key, some in (("unclear", unclear), ("missing", missing))
              if (line := tell_claims(key, some, words))]  # fmt: skip
    rows = [
        tell_evidence(finding.claim, one, words)
        for finding in report.findings
        for one in most_telling(finding, _MOST_EVIDENCE)
    ]
    if rows:
        columns = evidence_columns(words)
        lines += ["", _row(columns), _row([":--"] * len(columns))]
        lines += [_row([_plain(cell) for cell in row]) for row in rows]
    return [*lines, ""]


def _table(table: ReportTable) -> Sequence[str]:
    head = ["model", "data", "lang", "documents", "asked", *(column.heading for column in table.columns)]
    lines = [_row(head), _row([":--"] * 4 + ["--:"] * (len(head) - 4))]
    for row in table.rows:
        model = _plain(row.key.model) + (" †" if row.comparable else "")
        told = [model, _plain(row.data), row.key.lang, str(row.docs or "–")]
        told.append(show_asked(row.asked, row.errors))
        cells = [show(cell, column, few="\\*") for cell, column in zip(row.cells, table.columns, strict=True)]
        lines.append(_row([*told, *cells]))
    return lines


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """A name from outside as text: nothing in it is markup, and it stays on its line."""
    return _SPECIAL.sub(r"\\\1", printable(" ".join(text.split())))
