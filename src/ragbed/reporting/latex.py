"""Write a report as LaTeX: the paper's four tables with our comparable rows, followed by all our tables."""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.reporting.latex_paper import FIT, SPACE, small, write_paper_tables
from ragbed.reporting.numbers import FEW, is_least, show_bound, show_incomplete, show_number
from ragbed.reporting.tables import Report, ReportTable, TableColumn, TableRow
from ragbed.schema import Estimate
from ragbed.text import printable

# Brackets and stars are wrapped in braces, because \\ and \midrule would treat a following bracket or star as an
# argument.
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
        # In LaTeX's default font encoding, these three characters print as other ones.
        "|": r"\textbar{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "–": "--",
        "ρ": r"$\rho$",
    }
)
# Maximum number of characters in a one-line heading, about the width of a value and its confidence interval.
_LONG_HEADING = 12


def write(report: Report) -> str:
    """Return all tables as LaTeX, which requires the booktabs and graphicx packages."""
    runs = printable(", ".join(report.runs).replace("\n", " "))
    head = f"% Created by ragbed from {runs}; scorer {report.scorer}. Requires \\usepackage{{booktabs,graphicx}}."
    note = " Intervals are valid at any stopping time." if report.is_monitored else ""
    ours = ("\n".join(_table(table, note)) for table in report.tables)
    return "\n\n".join([head, *write_paper_tables(report.shown, report.published, _text), *ours]) + "\n"


def _table(table: ReportTable, note: str) -> Iterator[str]:
    yield r"\begin{table}\centering\small"
    yield rf"\caption{{{_text(table.title)}. {_note(table)}{note}}}\par\smallskip"
    yield FIT
    yield rf"\begin{{tabular}}{{llr{'r' * len(table.columns)}}}"
    yield r"\toprule"
    yield _line(["model", "lang.", "$n$", *(_heading(column.heading) for column in table.columns)])
    yield r"\midrule"
    for ours in table.rows:
        if not ours.printed:  # Rows from the paper appear only in the paper's tables.
            yield from _ours(ours, table)
    yield r"\bottomrule"
    yield r"\end{tabular}}"
    yield r"\end{table}"


def _ours(row: TableRow, table: ReportTable) -> Iterator[str]:
    """Yield two lines: the values and, below them, the dataset and confidence intervals."""
    data = row.data + (f", {row.docs} documents" if row.docs else "")
    cells = list(zip(row.cells, table.columns, strict=True))
    yield _line(
        [
            _text(row.key.model),
            row.key.lang,
            _text(str(row.counts.n)),
            *(_number(cell, column) for cell, column in cells),
        ]
    )
    under = [small(_text(data)), "", small(_text(show_incomplete(row.counts)))]
    yield _line([*under, *(_interval(cell, column) for cell, column in cells)])
    yield SPACE


def _heading(heading: str) -> str:
    """Return a heading, split over two lines if it is long."""
    words = heading.split()
    if len(heading) <= _LONG_HEADING or len(words) == 1:
        return _text(heading)
    cut = min(range(1, len(words)), key=lambda place: abs(len(" ".join(words[:place])) - len(" ".join(words[place:]))))
    return rf"\shortstack[r]{{{_text(' '.join(words[:cut]))}\\{_text(' '.join(words[cut:]))}}}"


def _number(cell: Estimate | None, column: TableColumn) -> str:
    if cell is None or cell.value is None:
        return "--"
    least = " (at least)" if is_least(cell, column) else ""
    return show_number(cell.value, column).replace("-", "$-$") + ("$^*$" if cell.questions < FEW else "") + least


def _interval(cell: Estimate | None, column: TableColumn) -> str:
    if cell is None or cell.low is None or cell.high is None:
        return ""
    low, high = (show_number(number, column).replace("-", "$-$") for number in (cell.low, cell.high))
    bound = show_bound(cell, column)
    return small(f"{low}--{high}" + (f" (at most {bound})" if bound else ""))


def _note(table: ReportTable) -> str:
    note = r"Percentages of $n$, failures included, with 95\,\% intervals by question"
    has_few = any(cell is not None and cell.questions < FEW for row in table.rows for cell in row.cells)
    return note + (rf"; $^*$ fewer than {FEW} questions." if has_few else ".")


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _text(text: str) -> str:
    return printable(" ".join(text.split())).translate(_ESCAPES)
