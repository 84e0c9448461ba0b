"""Chart styles, with the colours from `static/look.css`.

Pages use CSS variables for the colours. SVG files contain the values, because few SVG viewers support variables.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from ragbed.reporting.pages import read_static

Theme: TypeAlias = Literal["light", "dark"]

HUES = 8  # Number of colours for series; further series reuse the colours with a different dash pattern.

_COLOUR = re.compile(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)")
_VARIABLE = re.compile(r"var\(--([\w-]+)\)")


def rules() -> str:
    """Return the styles for all charts, with colours as variables."""
    hues = [f"var(--series-{hue})" for hue in range(1, HUES + 1)]
    series = [f".chart .s{number}{{fill:{hue};stroke:{hue}}}" for number, hue in enumerate(hues, start=1)]
    return "\n".join([*series, _RULES])


def written_rules(theme: Theme) -> str:
    """Return the styles for all charts, with a theme's colours as literal values."""
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
