"""What a text has at all, so that nobody looks for what cannot be there: one pass instead of a dozen."""

from __future__ import annotations

import re
from typing import TypeAlias

_WORD = re.compile(r"[a-z'][a-z']+")


def in_order(listed: str) -> list[str]:
    """A list of words, written as one text."""
    return listed.split()


def words(listed: str) -> frozenset[str]:
    """A set of words, written as one text."""
    return frozenset(listed.split())


NEGATIONS = words(
    "not no never neither nor none cannot isn't wasn't aren't weren't don't doesn't didn't can't couldn't won't "
    "wouldn't hasn't haven't hadn't shouldn't ain't"
)


Seen: TypeAlias = frozenset[str]
"""The Latin words of a folded text, and its characters."""


def look(text: str) -> Seen:
    """Takes a folded text apart."""
    return frozenset(text).union(_WORD.findall(text))
