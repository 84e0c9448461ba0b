"""Draw charts as SVG with pure functions: lines with confidence bands, and charts with labelled rows."""

from __future__ import annotations

from ragbed.reporting.pages.charts.curves import CurvePoint, Series, curves
from ragbed.reporting.pages.charts.layout import Chart, ChartTexts, safe_name
from ragbed.reporting.pages.charts.rows import ChartRow, StackSegment, heat, stacks

__all__ = [
    "Chart", "ChartRow", "ChartTexts", "CurvePoint", "Series", "StackSegment",
    "curves", "heat", "safe_name", "stacks",
]  # fmt: skip
