"""What the scripts of a page say, and whether its Chinese says the same."""

from __future__ import annotations

import re
from importlib.resources import files


def sources(package: str) -> dict[str, str]:
    """The scripts of a package's pages and those of the kit, by name."""
    folders = (files("ragbed.reporting.pages") / "static", files(package) / "static")
    return {
        one.name: one.read_text("utf-8") for folder in folders for one in folder.iterdir() if one.name.endswith(".js")
    }


def check_pager(package: str, spoken: re.Pattern[str]) -> None:
    """Buttons that turn pages say so in Chinese, where an item's neighbour is another word."""
    code = sources(package)
    chinese = dict(re.findall(r'^  "([^"]+)": "([^"]+)"', code["words.js"] + code["zh.js"], re.MULTILINE))
    buttons = set(spoken.findall(code["list.js"].partition("function drawPager")[2])) - {"{0} to {1}"}
    assert len(buttons) >= 3
    assert [word for word in buttons if "页" not in chinese[word]] == []
