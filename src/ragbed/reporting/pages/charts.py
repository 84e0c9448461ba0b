"""Draw charts as SVG with pure functions: lines with confidence bands, stacked bars and heat maps."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from types import ModuleType
from typing import Literal, NamedTuple
from unicodedata import east_asian_width
from zlib import crc32

from ragbed.errors import UsageError
from ragbed.reporting.numbers import percent, show_interval
from ragbed.reporting.pages import read_static
from ragbed.reporting.pages.markup import Child, Node, el, raw, write
from ragbed.reporting.table import Shown
from ragbed.schema import Estimate

WIDTH = 540  # Width of a chart in pixels; when a phone scales the chart down, letters are still eight pixels high.
CHARACTER = 6.4  # Approximate width in pixels of a Latin letter at font size 12; a Chinese character is twice as wide.
_NAME = 7.2  # Approximate width in pixels of a Latin letter in names, which use font size 13.5 on a phone.
_LONGEST_NAME = 80
_PART = re.compile(r"(?<=[-_/:\s])")  # the boundary between two parts of a model name
_DASHES = (None, "7 3", "2 2", "9 3 2 3")


HUES = 8  # Number of colours for series; further series reuse the colours with a different dash pattern.

_COLOUR = re.compile(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)")
_VARIABLE = re.compile(r"var\(--([\w-]+)\)")


def rules() -> str:
    """Return the styles for all charts; their colours are the variables of `static/look.css`."""
    hues = [f"var(--series-{hue})" for hue in range(1, HUES + 1)]
    series = [f".chart .s{number}{{fill:{hue};stroke:{hue}}}" for number, hue in enumerate(hues, start=1)]
    return "\n".join([*series, _RULES])


def _written_rules(theme: Literal["light", "dark"]) -> str:
    """Return the styles with a theme's colours as literal values, because few SVG viewers support variables."""
    place = 1 if theme == "light" else 2
    colours = {found[1]: found[1 + place] for found in _COLOUR.finditer(read_static("look.css"))}
    return _VARIABLE.sub(lambda match: colours[match[1]], rules())


_RULES = """
.chart{font-family:"Helvetica Neue",Arial,"Noto Sans","Noto Sans CJK SC","PingFang SC","Microsoft YaHei",sans-serif;
font-size:12px}
.chart text{fill:var(--ink);stroke:none}
.chart .faint{fill:var(--ink-2)}
.chart .title{font-size:13px;font-weight:600}
.chart .note{font-size:10.5px;fill:var(--ink-2)}
.chart .paper{fill:var(--raised);stroke:none}
.chart .rule{stroke:var(--line);stroke-width:1;fill:none}
.chart .axis{stroke:var(--line-strong);stroke-width:1;fill:none}
.chart .line{fill:none;stroke-width:2;stroke-linejoin:round}
.chart .level{fill:none;stroke-width:1;stroke-dasharray:1.5 3}
.chart .band{stroke:none;fill-opacity:.13}
.chart .whisker{stroke:var(--ink);stroke-width:1.2;fill:none}
.chart .block{stroke:var(--raised);stroke-width:1}
.chart .pale{fill-opacity:.38}
.chart text.inside{fill:var(--raised);font-weight:600}
.chart text.strong{font-weight:600}
"""


class ChartTexts(NamedTuple):
    """The texts in a chart. `rows` is the heading of its table's first column; `across` and `up` label the axes."""

    title: str
    description: str
    rows: str
    across: str = ""
    up: str = ""
    level: str = ""  # Label that explains the dotted line.


@dataclass(frozen=True)
class Chart:
    """A drawing with its texts, and its numbers as a table. `name` identifies its file and its element on a page."""

    name: str
    title: str
    description: str
    drawing: Node
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()

    def as_file(self, *, follows_theme: bool) -> str:
        """Return the drawing as an SVG file that either follows the reader's theme or has a white background."""
        style = _written_rules("light")
        if follows_theme:
            style += f"\n@media (prefers-color-scheme:dark){{{_written_rules('dark')}}}"
        attributes = (("xmlns", "http://www.w3.org/2000/svg"), *self.drawing.attributes)
        title, description, *rest = self.drawing.children
        return write(Node("svg", attributes, (title, description, raw("style", style), *rest))) + "\n"


def draw(
    name: str,
    texts: ChartTexts,
    height: float,
    marks: Iterable[Child],
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> Chart:
    """Return a chart with its title, its description and its numbers."""
    drawing = sheet(texts.title, texts.description, height, marks)
    return Chart(name, texts.title, texts.description, drawing, columns, rows)


def sheet(title: str, description: str, height: float, marks: Iterable[Child]) -> Node:
    """Return an SVG image with a title; screen readers read the title and the description."""
    return el(
        "svg",
        el("title", title),
        el("desc", description),
        el("rect", class_="paper", width=WIDTH, height=height),
        el("text", fit(title, WIDTH - 16, 7.1), class_="title", x=8, y=20),
        marks,
        class_="chart",
        viewBox=f"0 0 {WIDTH} {height:g}",
        width=WIDTH,
        height=height,
        role="img",
    )


def safe_name(text: str) -> str:
    """Convert a text to a file or element name, with a hash appended if the name differs from the text.

    The name contains only ASCII letters, digits, underscores, dots and dashes.
    """
    kept = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.")[:_LONGEST_NAME]
    return kept if kept and kept == text else f"{kept}-{crc32(text.encode(errors='surrogatepass')):08x}"


def hue(number: int) -> str:
    """Return the CSS class for the colour of a series, given its zero-based index."""
    return f"s{number % HUES + 1}"


def dash(number: int) -> str | None:
    """Return the dash pattern that distinguishes a series from others of the same colour, even in print."""
    return _DASHES[(number + number // HUES) % len(_DASHES)]


def measure(text: str, letter: float = CHARACTER) -> float:
    """Return the approximate width of a text in pixels."""
    return sum(letter * (2 if east_asian_width(character) in "WF" else 1) for character in text)


def fit(text: str, width: float, letter: float = CHARACTER) -> str:
    """Shorten a text in the middle to fit a width, because model names differ mostly at the start and the end."""
    text = " ".join(text.split())
    if measure(text, letter) <= width:
        return text
    head, tail = text[: len(text) // 2], text[len(text) // 2 :]
    while head + tail and measure(f"{head}…{tail}", letter) > width:
        head, tail = (head[:-1], tail) if 2 * len(head) > len(tail) else (head, tail[1:])
    return f"{head}…{tail}"


def fit_names(names: Sequence[str], width: float) -> list[str]:
    """Shorten names to fit a width. If different names would be equal, their common parts are left out at the end.

    Common parts at the end are e.g. `-Instruct`. If that is not enough, the names are numbered.
    """
    fitted = {name: fit(name, width, _NAME) for name in names}
    counts = Counter(fitted.values())
    alike = {name: _PART.split(name) for name in fitted if counts[fitted[name]] > 1}
    end = next((at for at, parts in enumerate(zip_longest(*map(reversed, alike.values()))) if len({*parts}) > 1), 0)
    cut = {name: f"{''.join(parts[: len(parts) - end]).rstrip('-_/: ')}…" for name, parts in alike.items()}
    if len({fit(text, width, _NAME) for text in cut.values()}) < len(cut):
        cut = {name: f"{number} {name}" for number, name in enumerate(alike, 1)}
    fitted |= {name: fit(text, width, _NAME) for name, text in cut.items()}
    return [fitted[name] for name in names]


def spread(wanted: Sequence[float], least: float, top: float, bottom: float) -> list[float]:
    """Return label positions that are close to the preferred ones, with a minimum gap of `least`."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    placed = list(wanted)
    edge = top - least
    for place in order:
        placed[place] = edge = max(wanted[place], edge + least)
    edge = bottom + least
    for place in reversed(order):
        placed[place] = edge = min(placed[place], edge - least)
    return placed


_DOTS = 3.0  # Pixels per SVG unit; an image is about 1,600 pixels wide, which is enough for print.


PICTURES: dict[str, Callable[[Chart], bytes]] = {
    "svg": lambda chart: chart.as_file(follows_theme=True).encode(),
    "png": lambda chart: bytes(_library().svg_to_png(chart.as_file(follows_theme=False), scale=_DOTS)),
    "pdf": lambda chart: bytes(_library().svg_to_pdf(chart.as_file(follows_theme=False))),
}


def _library() -> ModuleType:
    try:
        import vl_convert  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError(
            "PNG and PDF figures require an extra: pip install 'ragbed[figures]'. SVG works without it."
        ) from None
    return vl_convert


_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 200, 56, 48  # Margins of a chart with curves.
_LINE = 15  # Height of a label in pixels.
_LABEL = 24  # Minimum distance in pixels between two labels on the x-axis.
_INNER = 240


class Series(NamedTuple):
    """One curve: shares by their positions on the x-axis. `level` is a reference that is drawn as a dotted line."""

    name: str
    points: Mapping[float, Estimate]
    level: Estimate | None = None


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

    def y(self, value: float | None) -> float:
        return _TOP + (1 - (value or 0)) * self.height


def curves(name: str, texts: ChartTexts, series: Sequence[Series], *, is_log: bool = False) -> Chart:
    """Draw curves with a y-axis from 0 to 100%; the x-axis can be logarithmic."""
    places = sorted({at for one in series for at in one.points})
    scale = _Scale(places[0], places[-1], max(_INNER, _LINE * len(series)), is_log)
    marks = [*_axes(scale, places, texts)]
    for number, one in enumerate(series):
        marks += _marks(scale, number, one)
    marks += _names(scale, series)
    has_level = any(one.level is not None for one in series)
    columns = [texts.rows, *(f"{place:.3g}" for place in places), *([texts.level] if has_level else [])]
    found = [[*map(one.points.get, places), *([one.level] if has_level else [])] for one in series]
    rows = [[one.name, *map(_cell, cells)] for one, cells in zip(series, found, strict=True)]
    return draw(name, texts, _TOP + scale.height + _BOTTOM, marks, columns, rows)


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
    banded = [(scale.x(at), one) for at, one in series.points.items() if one.low is not None]
    if len(banded) > 1:
        edges = [(x, scale.y(one.high)) for x, one in banded] + [(x, scale.y(one.low)) for x, one in reversed(banded)]
        yield el("path", class_=f"{hue(number)} band", d=_path(edges) + "Z")
    if series.level is not None and series.level.value is not None:
        at = scale.y(series.level.value)
        yield el("path", class_=f"{hue(number)} level", d=f"M{_LEFT} {at:.1f}H{WIDTH - _RIGHT}")
    spots = [(scale.x(at), scale.y(one.value)) for at, one in series.points.items()]
    if len(spots) > 1:
        yield el("path", class_=f"{hue(number)} line", d=_path(spots), stroke_dasharray=dash(number))
    for (at, one), (x, y) in zip(series.points.items(), spots, strict=True):
        shown = show_interval((one.value, one.low, one.high)) or Shown("–")
        share = f"{shown.value}% {shown.interval}".rstrip()
        title = f"{series.name}, {at:.3g}: {share}, n = {one.n}"
        yield el("circle", el("title", title), class_=hue(number), cx=x, cy=y, r=3.2)


def _names(scale: _Scale, series: Sequence[Series]) -> Iterator[Node]:
    ends = [scale.y([*one.points.values()][-1].value) for one in series]
    heights = spread(ends, _LINE, _TOP, _TOP + scale.height)
    left = WIDTH - _RIGHT
    names = fit_names([one.name for one in series], _RIGHT - 58)
    for number, (end, name, y) in enumerate(zip(ends, names, heights, strict=True)):
        yield el("path", class_=f"{hue(number)} level", d=f"M{left + 4} {end:.1f}L{left + 18} {y:.1f}")
        line = {"class_": f"{hue(number)} line", "d": f"M{left + 20} {y:.1f}h22"}
        yield el("path", **line, stroke_dasharray=dash(number))
        yield el("text", name, x=left + 46, y=y + 4)


def _path(spots: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in spots)


def _cell(one: Estimate | None) -> str:
    return "–" if one is None else f"{show_interval((one.value, one.low, one.high)) or '–'} (n = {one.n})"


# Width of the labels, top and right margins, and height of a row and of a line in the legend.
_LABELS, _ABOVE, _BESIDE, _ROW, _LEGEND = 170, 36, 64, 30, 20


class ChartRow(NamedTuple):
    """A row: its name, its shares, a note that distinguishes rows with the same name, and its sample size."""

    name: str
    shares: Sequence[float | None]
    note: str = ""
    n: int = 0

    def cells(self) -> list[str]:
        """Return the name and the shares for the chart's table."""
        return [", ".join(filter(None, (self.name, self.note))), *(percent(share, 1) for share in self.shares)]


def _name_rows(rows: Sequence[ChartRow], first: float) -> Iterator[tuple[ChartRow, float, list[Node]]]:
    """Yield each row with its position and its label; `first` is the position of the first row."""
    for number, (label, row) in enumerate(zip(fit_names([row.name for row in rows], _LABELS - 16), rows, strict=True)):
        top = first + _ROW * number
        marks = [el("text", label, x=_LABELS - 8, y=top + (10 if row.note else 15), text_anchor="end")]
        if row.note:
            note = fit(row.note, _LABELS - 16, 5.6)
            marks.append(el("text", note, class_="note", x=_LABELS - 8, y=top + 23, text_anchor="end"))
        yield row, top, marks


def _legend(parts: Iterable[StackSegment], top: float) -> tuple[float, list[Node]]:
    """Return the height of a legend below `top`, and its squares with their names."""
    marks: list[Node] = []
    left, line = 8.0, 0
    for part in parts:
        width = 38 + measure(part.name)
        if left + width > WIDTH and left > 8:
            left, line = 8.0, line + 1
        y = top + _LEGEND * line
        marks.append(el("rect", **part.shade, x=left, y=y, width=14, height=14))
        marks.append(el("text", fit(part.name, WIDTH - 40), x=left + 20, y=y + 11.5))
        left += width
    return _LEGEND * (line + 1), marks


class StackSegment(NamedTuple):
    """A segment of a bar: its name, its colour, and whether it is drawn in a pale shade."""

    name: str
    hue: int
    pale: bool = False

    @property
    def shade(self) -> dict[str, str | None]:
        """Return the attributes of the segment's rectangles."""
        return {"class_": f"s{self.hue} block" + (" pale" if self.pale else "")}


_LEAST = 26  # Minimum width in pixels of a segment that shows its number.


def stacks(name: str, texts: ChartTexts, parts: Sequence[StackSegment], rows: Sequence[ChartRow]) -> Chart:
    """Draw one bar per row, in which each segment shows a percentage, with a legend below."""
    used = [part for part, *shares in zip(parts, *(row.shares for row in rows), strict=True) if any(shares)]
    bottom = _ABOVE + _ROW * len(rows) + 12
    height, legend = _legend(used or parts, bottom)
    marks: list[Node] = []
    for row, top, label in _name_rows(rows, _ABOVE):
        left = float(_LABELS)
        marks += label
        marks.append(el("text", f"n = {row.n}", class_="faint", x=WIDTH - _BESIDE + 6, y=top + 14))
        for part, share in zip(parts, row.shares, strict=True):
            width = (share or 0.0) * (WIDTH - _LABELS - _BESIDE)
            if width > 0:
                title = el("title", f"{row.name} {row.note}: {part.name} {percent(share, 1)}%")
                marks.append(el("rect", title, **part.shade, x=left, y=top, width=width, height=20))
            if width >= _LEAST:
                ink, middle = "strong" if part.pale else "inside", left + width / 2
                marks.append(el("text", percent(share), class_=ink, x=middle, y=top + 14, text_anchor="middle"))
            left += width
    columns = [texts.rows, *(part.name for part in parts), "n"]
    numbers = [[*row.cells(), str(row.n)] for row in rows]
    return draw(name, texts, bottom + height + 6, [*marks, *legend], columns, numbers)


_HEAD = 22  # Height of the headings of a heat map.
_WIDEST = 96
_DARK = 0.8  # Cells with at least this value are dark, so their numbers are drawn in the background colour.


def heat(name: str, texts: ChartTexts, columns: Sequence[str], rows: Sequence[ChartRow]) -> Chart:
    """Draw the share for each row and column as a number and a shade, with a dash in cells without a number."""
    width = min(_WIDEST, (WIDTH - _LABELS - 8) / max(1, len(columns)))
    marks: list[Node] = [el("text", fit(texts.rows, _LABELS - 16), class_="faint", x=8, y=_ABOVE + 18)]
    for number, column in enumerate(columns):
        lines = wrap(column, max(1, int((width - 4) / CHARACTER)), break_long_words=False)
        for place, line in enumerate(reversed(lines if len(lines) <= 2 else [column])):
            x, y = _LABELS + width * (number + 0.5), _ABOVE + 18 - 13 * place
            marks.append(el("text", fit(line, width - 4), class_="faint", x=x, y=y, text_anchor="middle"))
    for row, below, label in _name_rows(rows, _ABOVE + 7 + _HEAD):
        top = below - 3
        marks += label
        for number, value in enumerate(row.shares):
            left = _LABELS + width * number
            box = {"x": left, "y": top, "width": width, "height": _ROW}
            ink = "faint" if value is None else "inside" if value >= _DARK else "strong"
            if value is not None:
                marks.append(el("rect", class_="paper", **box))
                marks.append(el("rect", class_="s1 block", fill_opacity=f"{0.06 + 0.94 * value:.2f}", **box))
            marks.append(el("text", percent(value), class_=ink, x=left + width / 2, y=top + 19, text_anchor="middle"))
    bottom, middle = _ABOVE + 4 + _HEAD + _ROW * len(rows), _LABELS + width * len(columns) / 2
    marks.append(el("text", texts.across, class_="faint", x=middle, y=bottom + 16, text_anchor="middle"))
    return draw(name, texts, bottom + 26, marks, [texts.rows, *columns], [row.cells() for row in rows])
