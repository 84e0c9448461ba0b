"""Generated pages are current."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as Xml

import pytest

from scripts.write_reference import write_pages
from tests.docs.blocks import ROOT

PAGES = write_pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_current(name: str) -> None:
    path = ROOT / name
    assert path.exists(), f"{name} does not exist; run `make reference`"
    assert path.read_text("utf-8") == PAGES[name], f"{name} is outdated; run `make reference`"


@pytest.mark.parametrize("name", [name for name in PAGES if name.endswith(".svg")])
def test_nothing_is_drawn_outside_a_figure(name: str) -> None:
    drawn = Xml.fromstring(PAGES[name])
    _, _, width, height = map(float, drawn.attrib["viewBox"].split())
    boxes = list(_boxes(drawn))
    assert len(boxes) > 4
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= width, (left, right)
        assert 0 <= top < bottom <= height, (top, bottom)


def _boxes(drawn: Xml.Element) -> Iterator[tuple[float, float, float, float]]:
    for box in drawn.iter("{http://www.w3.org/2000/svg}rect"):
        x, y, width, height = (float(box.attrib.get(name, 0)) for name in ("x", "y", "width", "height"))
        yield x, y, x + width, y + height
