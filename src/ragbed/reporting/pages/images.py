"""Drawings as files: SVG, and PNG and PDF by a library that needs neither a browser nor a network."""

from __future__ import annotations

from types import ModuleType

from ragbed.errors import UsageError
from ragbed.reporting.pages.charts import Chart

_DOTS = 3.0
"""Pixels a point: 1,920 across, enough for a column of print."""


def draw_svg(chart: Chart) -> bytes:
    """A file that follows the theme of its reader."""
    return chart.as_file(follows_theme=True).encode()


def draw_png(chart: Chart) -> bytes:
    """On white."""
    return bytes(_library().svg_to_png(chart.as_file(follows_theme=False), scale=_DOTS))


def draw_pdf(chart: Chart) -> bytes:
    """On white, as lines and letters, with the letters' shapes inside."""
    return bytes(_library().svg_to_pdf(chart.as_file(follows_theme=False)))


PICTURES = {"svg": draw_svg, "png": draw_png, "pdf": draw_pdf}
"""By the ending of the file."""


def _library() -> ModuleType:
    try:
        import vl_convert  # noqa: PLC0415 - large, and only these two formats need it
    except ImportError:
        raise UsageError("PNG and PDF need a library: pip install 'ragbed[figures]'. SVG needs none.") from None
    return vl_convert
