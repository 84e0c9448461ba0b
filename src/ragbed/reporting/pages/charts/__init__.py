"""Draw charts as SVG with pure functions; each chart type has its own module."""

from __future__ import annotations

from ragbed.reporting.pages.charts.bars import Bar, bars
from ragbed.reporting.pages.charts.curves import CurvePoint, Series, curves
from ragbed.reporting.pages.charts.heat import HeatRow, heat
from ragbed.reporting.pages.charts.layout import Chart, ChartTexts, Grid, safe_name
from ragbed.reporting.pages.charts.stacks import Stack, StackSegment, stacks

__all__ = [
    "Bar",
    "Chart",
    "ChartTexts",
    "CurvePoint",
    "Grid",
    "HeatRow",
    "Series",
    "Stack",
    "StackSegment",
    "bars",
    "curves",
    "heat",
    "safe_name",
    "stacks",
]
