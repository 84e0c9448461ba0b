"""What is shown in a browser: the look, the scripts that draw, and how a page is served to this machine only.

`static/` holds modern ES modules and one style sheet, written by hand and served or inlined as they are: no build
step, no framework, nothing remote. A server's pages load them by name, the single-file report carries them inside.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def read_static(name: str) -> str:
    """One of the kit's files, by its name."""
    return (files(__package__) / "static" / name).read_text(encoding="utf-8")
