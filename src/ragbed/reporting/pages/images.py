"""Write charts as SVG, PNG and PDF files."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from ragbed.errors import UsageError
from ragbed.reporting.pages.charts import Chart

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
