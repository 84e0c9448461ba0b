"""Grouped bar charts with confidence intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragbed.reporting.pages.charts.layout import (
    WIDTH,
    Chart,
    ChartTexts,
    Grid,
    fit,
    format_share,
    hue,
    make_chart,
    percent,
)
from ragbed.reporting.pages.charts.theme import HUES
from ragbed.reporting.pages.markup import Node, el

_OUTLINES = ("1 2", None, "6 2", "2 2")  # Dash patterns, by how often the colours have been used before.
_LEFT, _RIGHT, _TOP, _BAR, _GAP = 200, 110, 36, 16, 10


class Bar(NamedTuple):
    """A bar in a group: a share with an optional confidence interval."""

    series: str
    value: float
    low: float | None
    high: float | None
    n: int


def bars(name: str, texts: ChartTexts, groups: Sequence[tuple[str, Sequence[Bar]]]) -> Chart:
    """Draw one bar per series in every group, with a legend below."""
    series = list(dict.fromkeys(bar.series for _, group in groups for bar in group))
    most = max([0.1, *(bar.value if bar.high is None else bar.high for _, group in groups for bar in group)])
    marks: list[Node] = []
    top = float(_TOP)
    for label, group in groups:
        marks.append(el("text", fit(label, _LEFT - 16), x=_LEFT - 8, y=top + 12, text_anchor="end"))
        for bar in group:
            marks += _bar(bar, series.index(bar.series), most, top)
            top += _BAR
        top += _GAP
    for number, one in enumerate(series):
        marks.append(el("rect", **_colours(number), x=8, y=top, width=14, height=14))
        marks.append(el("text", fit(one, WIDTH - 40), x=28, y=top + 11.5))
        top += 20
    columns = (texts.rows, *series)
    rows = tuple((label, *(_cell(group, one) for one in series)) for label, group in groups)
    return make_chart(name, texts, top + 6, marks, Grid(columns, rows))


def _bar(bar: Bar, number: int, most: float, top: float) -> Iterator[Node]:
    whole = WIDTH - _LEFT - _RIGHT
    low, high = (bar.value if bound is None else bound for bound in (bar.low, bar.high))
    at = {end: _LEFT + whole * share / most for end, share in (("v", bar.value), ("l", low), ("h", high))}
    title = el("title", f"{bar.series}: {format_share(bar.value, bar.low, bar.high, '%')}, n = {bar.n}")
    width = at["v"] - _LEFT
    yield el("rect", title, **_colours(number), x=_LEFT, y=top, width=width, height=_BAR - 2)
    middle = top + (_BAR - 2) / 2
    yield el("path", class_="whisker", d=f"M{at['l']:.1f} {middle:.1f}H{at['h']:.1f}")
    yield el("text", f"{percent(bar.value, 1)}%", class_="faint", x=at["h"] + 8, y=top + 11.5)


def _colours(number: int) -> dict[str, str | None]:
    """Return the attributes of a series' bars; a series that reuses a colour has an outline."""
    if number < HUES:
        return {"class_": f"{hue(number)} block pale"}
    return {"class_": f"{hue(number)} pale", "stroke_dasharray": _OUTLINES[number // HUES % len(_OUTLINES)]}


def _cell(group: Sequence[Bar], series: str) -> str:
    found = next((bar for bar in group if bar.series == series), None)
    return "–" if found is None else f"{format_share(found.value, found.low, found.high)} (n = {found.n})"
