"""Where a gold answer begins and ends: `70` stands in `170`, but not as a number of its own.

A digit next to a digit (or `.` and `,` between digits) and a Latin letter next to a Latin letter are no border.
Chinese is written without spaces, so there every other neighbour is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ragbed.lint.rule import PLAIN, SPACELESS, Fault, View, quote, rule
from ragbed.schema import Answer

BOUNDARY = "boundary"
"""The gold stands there between borders, not inside a longer number or word."""
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


@rule(
    "gold-inside-longer",
    "warning",
    "a supporting document holds the answer only inside a longer number or word",
    fix="Check that the document supports the answer; if not, move it to the distracting ones.",
    definitions=(PLAIN, SPACELESS),
)
def gold_inside_longer(view: View) -> Iterator[Fault]:
    """Some slot is contained, but none of its aliases that are stands between borders."""
    for index in view.pools["supports"]:
        senses = view.senses(index, lambda text: _only_inside(text, view.item.answer) is not None)
        if senses:
            text = view.folded[senses[0]][index]
            alias = _only_inside(text, view.item.answer) or ""
            at = text.find(alias.lower())
            yield view.fault(index, f"{alias} stands only in {quote(text, at, at + len(alias))}", senses)


def _only_inside(text: str, answer: Answer) -> str | None:
    """The first alias of a slot that stands in the text, but nowhere by itself."""
    for aliases in answer:
        held = tuple(alias for alias in aliases if alias.lower() in text)
        if held and not stands_alone(text, held):
            return held[0]
    return None
