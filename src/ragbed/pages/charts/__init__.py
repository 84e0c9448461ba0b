"""Charts: pure functions from numbers and words to SVG, one file per shape."""

from __future__ import annotations

from ragbed.pages.charts.bars import Bar, bars
from ragbed.pages.charts.curves import Point, Series, curves
from ragbed.pages.charts.frame import Chart, Grid
from ragbed.pages.charts.heat import heat
from ragbed.pages.charts.stacks import Part, Stack, stacks

__all__ = ["Bar", "Chart", "Grid", "Part", "Point", "Series", "Stack", "bars", "curves", "heat", "stacks"]
