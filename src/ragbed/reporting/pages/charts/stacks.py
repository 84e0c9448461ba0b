"""Stacked bar charts with one bar per row, in which each segment shows a percentage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragbed.reporting.pages.charts.layout import (
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

_LEFT, _TOP, _ROW, _BAR, _LEGEND = 170, 36, 30, 20, 20
_RIGHT = 64
_LEAST = 26  # Minimum width in pixels of a segment that shows its number.


class StackSegment(NamedTuple):
    """A segment of a bar: its name, its colour, and whether it is drawn in a pale shade."""

    name: str
    hue: int
    pale: bool = False


class Stack(NamedTuple):
    """A bar: its name, segment shares and sample size, and a note that distinguishes bars with the same name."""

    name: str
    shares: tuple[float, ...]
    n: int
    note: str = ""


def stacks(name: str, texts: ChartTexts, parts: Sequence[StackSegment], rows: Sequence[Stack]) -> Chart:
    """Draw the bars, with a legend below."""
    used = [part for part, *shares in zip(parts, *(row.shares for row in rows), strict=True) if any(shares)]
    legend = list(_legend(used or parts, _TOP + _ROW * len(rows) + 12))
    height = _TOP + _ROW * len(rows) + 12 + _LEGEND * max(line for line, _ in legend) + _LEGEND + 6
    labels = fit_names([row.name for row in rows], _LEFT - 16)
    marks = [
        mark
        for number, (label, row) in enumerate(zip(labels, rows, strict=True))
        for mark in _row(label, parts, row, _TOP + _ROW * number)
    ]
    marks += [mark for _, mark in legend]
    grid = Grid(
        (texts.rows, *(part.name for part in parts), "n"),
        tuple(
            (
                f"{row.name}, {row.note}" if row.note else row.name,
                *(percent(share, 1) for share in row.shares),
                str(row.n),
            )
            for row in rows
        ),
    )
    return make_chart(name, texts, height, marks, grid)


def _row(label: str, parts: Sequence[StackSegment], row: Stack, top: float) -> Iterator[Node]:
    middle = top + (8 if row.note else 14)
    yield el("text", label, x=_LEFT - 8, y=middle, text_anchor="end")
    if row.note:
        yield el("text", fit(row.note, _LEFT - 16, 5.6), class_="note", x=_LEFT - 8, y=middle + 13, text_anchor="end")
    yield el("text", f"n = {row.n}", class_="faint", x=WIDTH - _RIGHT + 6, y=top + 14)
    left, whole = float(_LEFT), WIDTH - _LEFT - _RIGHT
    for part, share in zip(parts, row.shares, strict=True):
        width = share * whole
        if width > 0:
            title = el("title", f"{row.name} {row.note}: {part.name} {percent(share, 1)}%")
            shade = f"s{part.hue} block" + (" pale" if part.pale else "")
            yield el("rect", title, class_=shade, x=left, y=top, width=width, height=_BAR)
        if width >= _LEAST:
            ink = "strong" if part.pale else "inside"
            yield el("text", percent(share), class_=ink, x=left + width / 2, y=top + 14, text_anchor="middle")
        left += width


def _legend(parts: Sequence[StackSegment], top: float) -> Iterator[tuple[int, Node]]:
    left, line = 8.0, 0
    for part in parts:
        width = 24 + measure(part.name) + 14
        if left + width > WIDTH and left > 8:
            left, line = 8.0, line + 1
        y = top + _LEGEND * line
        shade = f"s{part.hue} block" + (" pale" if part.pale else "")
        yield line, el("rect", class_=shade, x=left, y=y, width=14, height=14)
        yield line, el("text", part.name, x=left + 20, y=y + 11.5)
        left += width
