"""What a text has at all, so that nobody looks for what cannot be there: one pass instead of a dozen."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import NamedTuple

_WORD = re.compile(r"[a-z']+")


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


class Seen(NamedTuple):
    """The Latin words and the characters of a folded text."""

    words: frozenset[str]
    characters: frozenset[str]

    def has_any(self, hints: AbstractSet[str]) -> bool:
        """Whether the text has one of these words or characters."""
        return not (self.words.isdisjoint(hints) and self.characters.isdisjoint(hints))


def look(text: str) -> Seen:
    """Takes a folded text apart."""
    return Seen(frozenset(_WORD.findall(text)), frozenset(text))
