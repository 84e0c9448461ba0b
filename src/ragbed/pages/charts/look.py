"""How charts look: one set of rules, in colours that the colour-blind can tell apart, on light and on dark paper.

A page sets the colours as variables; a file of its own has them written in, since few readers of SVG know variables.
"""

from __future__ import annotations

import re

HUES = 7
"""Colours of series; further ones come again with another dash."""

# Okabe and Ito's, darkened or lightened until each has a contrast of 3 : 1 or more with the paper.
LIGHT = {
    "paper": "#ffffff",
    "ink": "#1c1e21",
    "faint": "#5f6368",
    "rule": "#d5d8dc",
    "s1": "#0067a6",
    "s2": "#c04a00",
    "s3": "#00795a",
    "s4": "#9b4480",
    "s5": "#8a5a00",
    "s6": "#2f7fb5",
    "s7": "#555b61",
}
DARK = {
    "paper": "#15181c",
    "ink": "#e8eaed",
    "faint": "#a3a9b0",
    "rule": "#3a4048",
    "s1": "#5cb3f2",
    "s2": "#ff8f52",
    "s3": "#3fd0a3",
    "s4": "#e79bcb",
    "s5": "#e0b04c",
    "s6": "#9ad1ff",
    "s7": "#b9bfc6",
}

_VARIABLE = re.compile(r"var\(--chart-(\w+)\)")


def rules() -> str:
    """The rules of all charts, colours as variables."""
    hues = [f"var(--chart-s{hue})" for hue in range(1, HUES + 1)]
    series = [f".chart .s{number}{{fill:{hue};stroke:{hue}}}" for number, hue in enumerate(hues, start=1)]
    return "\n".join([*series, _RULES])


def variables(colours: dict[str, str]) -> str:
    """Colours as variables, for a page."""
    return "".join(f"--chart-{name}:{value};" for name, value in colours.items())


def with_colours(style: str, colours: dict[str, str]) -> str:
    """Rules with colours written in, for a file of its own."""
    return _VARIABLE.sub(lambda match: colours[match[1]], style)


_RULES = """
.chart{font-family:"Helvetica Neue",Arial,"Noto Sans","Noto Sans CJK SC","PingFang SC","Microsoft YaHei",sans-serif;
font-size:12px}
.chart text{fill:var(--chart-ink);stroke:none}
.chart .faint{fill:var(--chart-faint)}
.chart .title{font-size:14px;font-weight:600}
.chart .paper{fill:var(--chart-paper);stroke:none}
.chart .rule{stroke:var(--chart-rule);stroke-width:1;fill:none}
.chart .axis{stroke:var(--chart-faint);stroke-width:1;fill:none}
.chart .line{fill:none;stroke-width:2;stroke-linejoin:round}
.chart .level{fill:none;stroke-width:1;stroke-dasharray:1.5 3}
.chart .band{stroke:none;fill-opacity:.13}
.chart .whisker{stroke:var(--chart-ink);stroke-width:1.2;fill:none}
.chart .block{stroke:var(--chart-paper);stroke-width:1}
.chart .pale{fill-opacity:.38}
.chart text.inside{fill:var(--chart-paper);font-weight:600}
.chart text.strong{font-weight:600}
"""
