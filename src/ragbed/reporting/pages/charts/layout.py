"""What all charts share: the sheet with its title and description, axes, and text that is fitted by eye measure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from unicodedata import east_asian_width
from zlib import crc32

from ragbed.reporting.pages.charts.theme import HUES, written_rules
from ragbed.reporting.pages.markup import Child, Node, el, raw, write

WIDTH = 540
"""Narrow enough that a phone, which shows all of it, leaves letters of eight pixels."""
_CHARACTER = 6.4
"""Width of a Latin letter at 12 pixels, on the wide side; a Chinese one takes two."""
_NAME = 7.2
"""The same where names stand, which a phone shows at 13.5 pixels."""
_LONGEST_NAME = 80
_DASHES = (None, "7 3", "2 2", "9 3 2 3")


class Grid(NamedTuple):
    """The numbers of a chart as a table, for those who cannot or will not look at it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Chart:
    """A drawing with its words and its numbers."""

    name: str
    """Names the file, and the element on a page."""
    title: str
    description: str
    drawing: Node
    grid: Grid

    def as_file(self, *, follows_theme: bool) -> str:
        """The drawing as a file of its own; one that follows the theme of its reader, or one on white."""
        told = written_rules("light")
        if follows_theme:
            told += f"\n@media (prefers-color-scheme:dark){{{written_rules('dark')}}}"
        attributes = (("xmlns", "http://www.w3.org/2000/svg"), *self.drawing.attributes)
        title, description, *rest = self.drawing.children
        return write(Node("svg", attributes, (title, description, raw("style", told), *rest))) + "\n"


def sheet(title: str, description: str, height: float, marks: Iterable[Child]) -> Node:
    """The paper with a title at its head; a screen reader is told title and description."""
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
    """A name for a file or an element: letters, digits, dashes; a name that had others gets a tag of its own."""
    kept = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-.")[:_LONGEST_NAME]
    return kept if kept and kept == text else f"{kept}-{crc32(text.encode(errors='surrogatepass')):08x}"


def hue(number: int) -> str:
    """The class of the colour of a series, counted from 0."""
    return f"s{number % HUES + 1}"


def dash(number: int) -> str | None:
    """The dash of a series, so that it can be told from another of the same colour, and in print without colours."""
    return _DASHES[(number + number // HUES) % len(_DASHES)]


def measure(text: str, letter: float = _CHARACTER) -> float:
    """About how wide a text is."""
    return sum(letter * (2 if east_asian_width(character) in "WF" else 1) for character in text)


def fit(text: str, width: float, letter: float = _CHARACTER) -> str:
    """A text that is not wider than so, cut inside: models are told apart by how they end. The table has it whole."""
    text = " ".join(text.split())
    if measure(text, letter) <= width:
        return text
    head, tail = text[: len(text) // 2], text[len(text) // 2 :]
    while head + tail and measure(f"{head}…{tail}", letter) > width:
        head, tail = (head[:-1], tail) if 2 * len(head) > len(tail) else (head, tail[1:])
    return f"{head}…{tail}"


def fit_names(names: Sequence[str], width: float) -> list[str]:
    """Return names that are not wider than so, and that differ wherever the names do.

    Names that would look alike once they are cut lose what all of them begin with.
    """
    fitted = [fit(name, width, _NAME) for name in names]
    if len(set(fitted)) == len(set(names)):
        return fitted
    shortest = min(names, key=len)
    start = next((at for at, letter in enumerate(shortest) if any(name[at] != letter for name in names)), len(shortest))
    cut = [fit(f"…{name[start:]}", width, _NAME) for name in names]
    return cut if len(set(cut)) > len(set(fitted)) else fitted


def spread(wanted: Sequence[float], least: float, top: float, bottom: float) -> list[float]:
    """Heights for labels, as near as can be to those wanted and no two closer than `least`."""
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
    """A share as a number of per cent, or a dash."""
    return "–" if value is None else f"{round(100 * value, digits) + 0.0:.{digits}f}"


def tell(value: float | None, low: float | None, high: float | None) -> str:
    """A share with its interval, in per cent."""
    interval = "" if low is None or high is None else f" [{percent(low, 1)}, {percent(high, 1)}]"
    return percent(value, 1) + interval
