"""The layout and the style of all charts: the frame, the title, and names that fit a width."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from types import ModuleType
from typing import Literal, NamedTuple
from unicodedata import east_asian_width
from zlib import crc32

from ragbed.errors import UsageError
from ragbed.reporting.pages import read_static
from ragbed.reporting.pages.markup import Child, Node, el, raw, write

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


class Grid(NamedTuple):
    """A chart's numbers as a table."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Chart:
    """A drawing with its texts and numbers. `name` identifies its file and its element on a page."""

    name: str
    title: str
    description: str
    drawing: Node
    grid: Grid

    def as_file(self, *, follows_theme: bool) -> str:
        """Return the drawing as an SVG file that either follows the reader's theme or has a white background."""
        style = _written_rules("light")
        if follows_theme:
            style += f"\n@media (prefers-color-scheme:dark){{{_written_rules('dark')}}}"
        attributes = (("xmlns", "http://www.w3.org/2000/svg"), *self.drawing.attributes)
        title, description, *rest = self.drawing.children
        return write(Node("svg", attributes, (title, description, raw("style", style), *rest))) + "\n"


class ChartTexts(NamedTuple):
    """The texts in a chart. `rows` is the heading of its table's first column; `across` and `up` label the axes."""

    title: str
    description: str
    rows: str
    across: str = ""
    up: str = ""
    level: str = ""  # Label that explains the dotted line.


def make_chart(name: str, texts: ChartTexts, height: float, marks: Iterable[Child], grid: Grid) -> Chart:
    """Return a chart with its title and description."""
    return Chart(name, texts.title, texts.description, sheet(texts.title, texts.description, height, marks), grid)


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


def percent(value: float | None, digits: int = 0) -> str:
    """Return a share as a percentage, or a dash if there is no share."""
    return "–" if value is None else f"{round(100 * value, digits) + 0.0:.{digits}f}"


def format_share(value: float | None, low: float | None, high: float | None, sign: str = "") -> str:
    """Format a share and its confidence interval as percentages; only the share is followed by `sign`, e.g. %."""
    interval = "" if low is None or high is None else f" [{percent(low, 1)}, {percent(high, 1)}]"
    return f"{percent(value, 1)}{sign}{interval}"


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
