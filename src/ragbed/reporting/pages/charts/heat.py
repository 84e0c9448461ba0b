"""Heat maps, which show the share for each row and column as a number and a shade."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

from ragbed.reporting.pages.charts.layout import (
    CHARACTER,
    WIDTH,
    Chart,
    ChartTexts,
    Grid,
    fit,
    fit_names,
    make_chart,
    percent,
)
from ragbed.reporting.pages.markup import Node, el

_LEFT, _TOP, _ROW, _HEAD, _LINE = 170, 40, 30, 22, 13
_WIDEST = 96
_DARK = 0.8  # Cells with at least this value are dark, so their numbers are drawn in the background colour.


class HeatRow(NamedTuple):
    """A row in a heat map: the name of a model, its condition, and a share for each column."""

    name: str
    note: str
    values: Sequence[float | None]


def heat(name: str, texts: ChartTexts, columns: Sequence[str], rows: Sequence[HeatRow]) -> Chart:
    """Draw the heat map, with a dash in cells without a number."""
    width = min(_WIDEST, (WIDTH - _LEFT - 8) / max(1, len(columns)))
    marks: list[Node] = [el("text", fit(texts.rows, _LEFT - 16), class_="faint", x=8, y=_TOP + 14)]
    for number, column in enumerate(columns):
        marks += _heading(column, _LEFT + width * (number + 0.5), width - 4)
    labels = fit_names([row.name for row in rows], _LEFT - 16)
    for number, (label, row) in enumerate(zip(labels, rows, strict=True)):
        marks += _row(label, row, width, _TOP + _HEAD + _ROW * number)
    bottom = _TOP + _HEAD + _ROW * len(rows)
    middle = _LEFT + width * len(columns) / 2
    marks.append(el("text", texts.across, class_="faint", x=middle, y=bottom + 16, text_anchor="middle"))
    grid = Grid(
        (texts.rows, *columns),
        tuple((f"{row.name}, {row.note}", *(percent(value, 1) for value in row.values)) for row in rows),
    )
    return make_chart(name, texts, bottom + 26, marks, grid)


def _heading(column: str, middle: float, width: float) -> Iterator[Node]:
    """Yield a column's heading in one or two lines."""
    lines = wrap(column, max(1, int(width / CHARACTER)), break_long_words=False)
    if len(lines) > 2:  # there is no room for a third line
        lines = [column]
    for number, line in enumerate(reversed(lines)):
        y = _TOP + 14 - _LINE * number
        yield el("text", fit(line, width), class_="faint", x=middle, y=y, text_anchor="middle")


def _row(label: str, row: HeatRow, width: float, top: float) -> Iterator[Node]:
    yield el("text", label, x=_LEFT - 8, y=top + 13, text_anchor="end")
    yield el("text", fit(row.note, _LEFT - 16, 5.6), class_="note", x=_LEFT - 8, y=top + 26, text_anchor="end")
    for number, value in enumerate(row.values):
        left = _LEFT + width * number
        if value is None:
            yield el("text", "–", class_="faint", x=left + width / 2, y=top + 19, text_anchor="middle")
            continue
        field = {"x": left, "y": top, "width": width, "height": _ROW}
        yield el("rect", class_="paper", **field)
        yield el("rect", class_="s1 block", fill_opacity=f"{0.06 + 0.94 * value:.2f}", **field)
        ink = "inside" if value >= _DARK else "strong"
        yield el("text", percent(value), class_=ink, x=left + width / 2, y=top + 19, text_anchor="middle")
