"""Tables as LaTeX for booktabs: the paper's four with our rows under its own, and then all of ours."""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.report.latex_paper import write_paper_tables
from ragbed.report.numbers import FEW, show_asked, show_number
from ragbed.report.tables import Column, Report, Row, Table
from ragbed.schema import Estimate
from ragbed.text import printable

# Brackets and stars are wrapped, since \\ and \midrule would take one that follows for an argument of theirs.
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "[": "{[}",
        "]": "{]}",
        "*": "{*}",
        "–": "--",
        "ρ": r"$\rho$",
    }
)


def write(report: Report) -> str:
    """All tables, ready to be pasted; they need the package booktabs."""
    runs = printable(", ".join(report.runs).replace("\n", " "))
    head = f"% Made by ragbed from {runs}; track {report.track}. Needs \\usepackage{{booktabs}}."
    ours = ("\n".join(_table(table)) for table in report.tables)
    return "\n\n".join([head, *write_paper_tables(report.cells, _text), *ours]) + "\n"


def _table(table: Table) -> Iterator[str]:
    yield r"\begin{table}\centering\small"
    yield rf"\caption{{{_text(table.title)}. {_note(table)}}}"
    yield rf"\begin{{tabular}}{{lllr{'r' * len(table.columns)}}}"
    yield r"\toprule"
    yield _line(["model", "data", "lang.", "$n$", *(_text(column.heading) for column in table.columns)])
    yield r"\midrule"
    for ours in table.rows:
        yield _ours(ours, table)
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield r"\end{table}"


def _ours(row: Row, table: Table) -> str:
    data = f"{row.key.data}, {row.key.profile}" + (f", {row.docs} documents" if row.docs else "")
    told = [_text(row.key.model), _text(data), row.key.lang, _text(show_asked(row.asked, row.errors))]
    return _line([*told, *(_number(cell, column) for cell, column in zip(row.cells, table.columns, strict=True))])


def _number(cell: Estimate | None, column: Column) -> str:
    if cell is None or cell.value is None:
        return "--"
    told, low, high = (show_number(number, column) for number in (cell.value, cell.low, cell.high))
    interval = rf" {{\scriptsize[{low}, {high}]}}" if low and high else ""
    return told.replace("-", "$-$") + interval + ("$^*$" if cell.n < FEW else "")


def _note(table: Table) -> str:
    told = [r"Per cent of what was asked, failures included, with 95\,\% intervals by question"]
    if any(cell is not None and cell.n < FEW for row in table.rows for cell in row.cells):
        told.append(rf"$^*$ fewer than {FEW} cases")
    return "; ".join(told) + "."


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _text(text: str) -> str:
    return printable(" ".join(text.split())).translate(_ESCAPES)
