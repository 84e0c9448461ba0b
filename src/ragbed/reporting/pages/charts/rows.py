"""Charts with labelled rows: stacked bars and heat maps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    measure,
    percent,
)
from ragbed.reporting.pages.markup import Node, el

_LEFT, _TOP, _ROW, _LINE = 170, 36, 30, 20  # Width of the labels, top margin, and height of a row and a legend line.


class ChartRow(NamedTuple):
    """A row: its name, its shares, a note that distinguishes rows with the same name, and its sample size."""

    name: str
    shares: Sequence[float | None]
    note: str = ""
    n: int = 0


def _label(label: str, note: str, top: float) -> Iterator[Node]:
    yield el("text", label, x=_LEFT - 8, y=top + (10 if note else 15), text_anchor="end")
    if note:
        yield el("text", fit(note, _LEFT - 16, 5.6), class_="note", x=_LEFT - 8, y=top + 23, text_anchor="end")


def _legend(parts: Iterable[StackSegment], top: float) -> tuple[float, list[Node]]:
    """Return the height of a legend below `top`, and its squares with their names."""
    marks: list[Node] = []
    left, line = 8.0, 0
    for part in parts:
        width = 38 + measure(part.name)
        if left + width > WIDTH and left > 8:
            left, line = 8.0, line + 1
        y = top + _LINE * line
        marks.append(el("rect", **part.shade, x=left, y=y, width=14, height=14))
        marks.append(el("text", fit(part.name, WIDTH - 40), x=left + 20, y=y + 11.5))
        left += width
    return _LINE * (line + 1), marks


class StackSegment(NamedTuple):
    """A segment of a bar: its name, its colour, and whether it is drawn in a pale shade."""

    name: str
    hue: int
    pale: bool = False

    @property
    def shade(self) -> dict[str, str | None]:
        """Return the attributes of the segment's rectangles."""
        return {"class_": f"s{self.hue} block" + (" pale" if self.pale else "")}


_RIGHT = 64
_LEAST = 26  # Minimum width in pixels of a segment that shows its number.


def stacks(name: str, texts: ChartTexts, parts: Sequence[StackSegment], rows: Sequence[ChartRow]) -> Chart:
    """Draw one bar per row, in which each segment shows a percentage, with a legend below."""
    used = [part for part, *shares in zip(parts, *(row.shares for row in rows), strict=True) if any(shares)]
    bottom = _TOP + _ROW * len(rows) + 12
    height, legend = _legend(used or parts, bottom)
    marks: list[Node] = []
    for number, (label, row) in enumerate(zip(fit_names([row.name for row in rows], _LEFT - 16), rows, strict=True)):
        top, left = _TOP + _ROW * number, float(_LEFT)
        marks += _label(label, row.note, top)
        marks.append(el("text", f"n = {row.n}", class_="faint", x=WIDTH - _RIGHT + 6, y=top + 14))
        for part, share in zip(parts, row.shares, strict=True):
            width = (share or 0.0) * (WIDTH - _LEFT - _RIGHT)
            if width > 0:
                title = el("title", f"{row.name} {row.note}: {part.name} {percent(share, 1)}%")
                marks.append(el("rect", title, **part.shade, x=left, y=top, width=width, height=20))
            if width >= _LEAST:
                ink, middle = "strong" if part.pale else "inside", left + width / 2
                marks.append(el("text", percent(share), class_=ink, x=middle, y=top + 14, text_anchor="middle"))
            left += width
    grid = Grid(
        (texts.rows, *(part.name for part in parts), "n"),
        tuple(
            (", ".join(filter(None, (row.name, row.note))), *(percent(one, 1) for one in row.shares), str(row.n))
            for row in rows
        ),
    )
    return make_chart(name, texts, bottom + height + 6, [*marks, *legend], grid)


_HEAD = 22  # Height of the headings of a heat map.
_WIDEST = 96
_DARK = 0.8  # Cells with at least this value are dark, so their numbers are drawn in the background colour.


def heat(name: str, texts: ChartTexts, columns: Sequence[str], rows: Sequence[ChartRow]) -> Chart:
    """Draw the share for each row and column as a number and a shade, with a dash in cells without a number."""
    width = min(_WIDEST, (WIDTH - _LEFT - 8) / max(1, len(columns)))
    marks: list[Node] = [el("text", fit(texts.rows, _LEFT - 16), class_="faint", x=8, y=_TOP + 18)]
    for number, column in enumerate(columns):
        lines = wrap(column, max(1, int((width - 4) / CHARACTER)), break_long_words=False)
        for place, line in enumerate(reversed(lines if len(lines) <= 2 else [column])):
            x, y = _LEFT + width * (number + 0.5), _TOP + 18 - 13 * place
            marks.append(el("text", fit(line, width - 4), class_="faint", x=x, y=y, text_anchor="middle"))
    for number, (label, row) in enumerate(zip(fit_names([row.name for row in rows], _LEFT - 16), rows, strict=True)):
        top = _TOP + 4 + _HEAD + _ROW * number
        marks += _label(label, row.note, top + 3)
        for place, value in enumerate(row.shares):
            left = _LEFT + width * place
            box = {"x": left, "y": top, "width": width, "height": _ROW}
            ink = "faint" if value is None else "inside" if value >= _DARK else "strong"
            if value is not None:
                marks.append(el("rect", class_="paper", **box))
                marks.append(el("rect", class_="s1 block", fill_opacity=f"{0.06 + 0.94 * value:.2f}", **box))
            marks.append(el("text", percent(value), class_=ink, x=left + width / 2, y=top + 19, text_anchor="middle"))
    bottom, middle = _TOP + 4 + _HEAD + _ROW * len(rows), _LEFT + width * len(columns) / 2
    marks.append(el("text", texts.across, class_="faint", x=middle, y=bottom + 16, text_anchor="middle"))
    numbers = tuple(
        (", ".join(filter(None, (row.name, row.note))), *(percent(value, 1) for value in row.shares)) for row in rows
    )
    return make_chart(name, texts, bottom + 26, marks, Grid((texts.rows, *columns), numbers))
