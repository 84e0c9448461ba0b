"""The scripts, styles and charts that all pages share.

`static/` contains ES modules and a style sheet that need no build step or framework. Our web servers serve these files,
and the single-file report contains them.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def read_static(name: str) -> str:
    """Return the text of a static file."""
    return (files(__package__) / "static" / name).read_text(encoding="utf-8")
