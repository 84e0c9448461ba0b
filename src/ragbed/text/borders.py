"""Where an answer begins and ends: `70` stands in `170`, but not as a number of its own.

A digit next to a digit (or `.` and `,` between digits) and a Latin letter next to a Latin letter are no border.
Chinese is written without spaces, so there every other neighbour is one.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ragbed.schema import Answer

_LATIN = "a-zß-öø-ÿ"


@lru_cache(maxsize=4096)
def bounded(alias: str) -> re.Pattern[str]:
    """A pattern that finds a lower-cased alias only where it does not run on into a longer number or word."""
    alias = alias.lower()
    before = after = ""
    if alias[0].isdigit():
        before = r"(?<!\d)(?<!\d[.,])"
    elif re.match(f"[{_LATIN}]", alias):
        before = f"(?<![{_LATIN}])"
    if alias[-1].isdigit():
        after = r"(?![.,]?\d)"
    elif re.match(f"[{_LATIN}]", alias[-1]):
        after = f"(?![{_LATIN}])"
    return re.compile(before + re.escape(alias) + after)


def all_stand_alone(folded_text: str, answer: Answer) -> bool:
    """Whether every slot has an alias that stands in a folded text between borders."""
    return all(stands_alone(folded_text, aliases) for aliases in answer)


def stands_alone(folded_text: str, aliases: tuple[str, ...]) -> bool:
    """Whether one of the aliases stands in a folded text between borders."""
    return any(bounded(alias).search(folded_text) for alias in aliases)
