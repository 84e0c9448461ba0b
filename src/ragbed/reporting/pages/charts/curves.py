"""Line charts with confidence bands; each series is one line with a label at its end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragbed.reporting.pages.charts.layout import (
    WIDTH,
    Chart,
    ChartTexts,
    Grid,
    dash,
    fit_names,
    format_share,
    hue,
    make_chart,
    percent,
    spread,
)
from ragbed.reporting.pages.markup import Node, el

_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 200, 56, 48
_LINE = 15  # Height of a label in pixels.
_LABEL = 24  # Minimum distance in pixels between two labels on the x-axis.
_INNER = 240


class CurvePoint(NamedTuple):
    """A share with its confidence interval, at a position on the x-axis."""

    at: float
    value: float | None
    low: float | None
    high: float | None
    n: int


class Series(NamedTuple):
    """One curve. `level` is a reference share that is drawn as a dotted line."""

    name: str
    points: tuple[CurvePoint, ...]
    level: CurvePoint | None = None


class _Scale(NamedTuple):
    """Maps numbers to positions in the drawing."""

    first: float
    last: float
    height: float
    is_log: bool = False

    def x(self, at: float) -> float:
        first, last, here = map(math.log, (self.first, self.last, at)) if self.is_log else (self.first, self.last, at)
        share = 0.5 if last == first else (here - first) / (last - first)
        return _LEFT + share * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        return _TOP + (1 - value) * self.height


def curves(name: str, texts: ChartTexts, series: Sequence[Series], *, is_log: bool = False) -> Chart:
    """Draw curves with a y-axis from 0 to 100%; the x-axis can be logarithmic."""
    places = sorted({point.at for one in series for point in one.points})
    scale = _Scale(places[0], places[-1], max(_INNER, _LINE * len(series)), is_log)
    height = _TOP + scale.height + _BOTTOM
    marks = [*_axes(scale, places, texts)]
    for number, one in enumerate(series):
        marks += _marks(scale, number, one)
    marks += _names(scale, series)
    return make_chart(name, texts, height, marks, _grid(texts, places, series))


def _axes(scale: _Scale, places: Sequence[float], texts: ChartTexts) -> Iterator[Node]:
    right, bottom = WIDTH - _RIGHT, _TOP + scale.height
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        yield el("path", class_="rule", d=f"M{_LEFT} {scale.y(share):.1f}H{right}")
        yield el("text", percent(share), class_="faint", x=_LEFT - 6, y=scale.y(share) + 4, text_anchor="end")
    yield el("path", class_="axis", d=f"M{_LEFT} {bottom:.1f}H{right}")
    last = -math.inf
    for place in places:
        if scale.x(place) - last >= _LABEL:  # Labels that would overlap are left out.
            last = scale.x(place)
            yield el("text", f"{place:.3g}", class_="faint", x=last, y=bottom + 16, text_anchor="middle")
    yield el("text", texts.across, class_="faint", x=(_LEFT + right) / 2, y=bottom + 36, text_anchor="middle")
    yield el("text", texts.up, class_="faint", x=_LEFT - 40, y=_TOP - 12)


def _marks(scale: _Scale, number: int, series: Series) -> Iterator[Node]:
    known = [point for point in series.points if point.value is not None]
    banded = [point for point in known if point.low is not None and point.high is not None]
    if len(banded) > 1:
        upper = [(scale.x(point.at), scale.y(point.high or 0)) for point in banded]
        lower = [(scale.x(point.at), scale.y(point.low or 0)) for point in reversed(banded)]
        yield el("path", class_=f"{hue(number)} band", d=_path([*upper, *lower]) + "Z")
    if series.level is not None and series.level.value is not None:
        at = scale.y(series.level.value)
        yield el("path", class_=f"{hue(number)} level", d=f"M{_LEFT} {at:.1f}H{WIDTH - _RIGHT}")
    spots = [(scale.x(point.at), scale.y(point.value or 0)) for point in known]
    if len(spots) > 1:
        yield el("path", class_=f"{hue(number)} line", d=_path(spots), stroke_dasharray=dash(number))
    for point, (x, y) in zip(known, spots, strict=True):
        title = f"{series.name}, {point.at:.3g}: {format_share(point.value, point.low, point.high, '%')}, n = {point.n}"
        yield el("circle", el("title", title), class_=hue(number), cx=x, cy=y, r=3.2)


def _names(scale: _Scale, series: Sequence[Series]) -> Iterator[Node]:
    ends = []
    for number, one in enumerate(series):
        known = [point for point in one.points if point.value is not None]
        if known:
            ends.append((number, one.name, scale.y(known[-1].value or 0)))
    heights = spread([end for _, _, end in ends], _LINE, _TOP, _TOP + scale.height)
    left = WIDTH - _RIGHT
    names = fit_names([name for _, name, _ in ends], _RIGHT - 58)
    for (number, _, end), name, y in zip(ends, names, heights, strict=True):
        yield el("path", class_=f"{hue(number)} level", d=f"M{left + 4} {end:.1f}L{left + 18} {y:.1f}")
        line = {"class_": f"{hue(number)} line", "d": f"M{left + 20} {y:.1f}h22"}
        yield el("path", **line, stroke_dasharray=dash(number))
        yield el("text", name, x=left + 46, y=y + 4)


def _path(spots: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in spots)


def _grid(texts: ChartTexts, places: Sequence[float], series: Sequence[Series]) -> Grid:
    has_level = any(one.level is not None for one in series)
    columns = (texts.rows, *(f"{place:.3g}" for place in places), *((texts.level,) if has_level else ()))
    rows = []
    for one in series:
        by_place = {point.at: point for point in one.points}
        cells = [_cell(by_place.get(place)) for place in places]
        rows.append((one.name, *cells, *((_cell(one.level),) if has_level else ())))
    return Grid(columns, tuple(rows))


def _cell(point: CurvePoint | None) -> str:
    return "–" if point is None else f"{format_share(point.value, point.low, point.high)} (n = {point.n})"
