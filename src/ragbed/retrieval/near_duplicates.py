"""Texts that are nearly the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

GRAM_CHARS = 5
"""Of a gram, white space left out."""
_FIFTHS = 4
"""Two texts are near duplicates if at least four fifths of the shorter one's grams are in the other. Whole numbers
avoid a decision by rounding."""
_MOST_CHARS = 100_000
"""Longer texts are compared by this much of their beginning, to bound the memory; RGB's longest has 1,745."""


def find_near(texts: Sequence[str]) -> list[set[int]]:
    """For each text, those that are near duplicates of it, by index; exact.

    A gram that stands in one text only can be shared with none, so a text most of whose grams are its own
    needs no comparison: what is left is counted by way of an index from grams to texts.
    """
    grams = [_grams(text) for text in texts]
    spread = Counter(chain.from_iterable(grams))
    common = {gram for gram, count in spread.items() if count > 1}
    shared = [own & common for own in grams]
    small = [index for index, some in enumerate(shared) if 5 * len(some) >= _FIFTHS * len(grams[index])]
    wanted = set[str]().union(*(shared[index] for index in small))
    holders: dict[str, list[int]] = {gram: [] for gram in wanted}
    for index, some in enumerate(shared):
        for gram in some & wanted:
            holders[gram].append(index)
    near: list[set[int]] = [set() for _ in texts]
    for index in small:
        size = len(grams[index])
        overlap = Counter(chain.from_iterable(holders[gram] for gram in shared[index]))
        for other, count in overlap.items():
            if other != index and size <= len(grams[other]) and 5 * count >= _FIFTHS * size:
                near[index].add(other)
                near[other].add(index)
    return near


class Distinct:
    """Texts that come one by one, of which none is kept that is nearly one before it."""

    def __init__(self) -> None:
        self._kept: list[set[str]] = []

    def keep(self, text: str) -> bool:
        """Whether a text is new, and kept."""
        grams = _grams(text)
        is_new = not any(_are_near(grams, other) for other in self._kept)
        if is_new:
            self._kept.append(grams)
        return is_new


def _are_near(one: set[str], other: set[str]) -> bool:
    """As `find_near` says it: two of no grams share nothing."""
    size = min(len(one), len(other))
    return size > 0 and 5 * len(one & other) >= _FIFTHS * size


def _grams(text: str) -> set[str]:
    text = unspaced(text)
    return {text[at : at + GRAM_CHARS] for at in range(len(text) - GRAM_CHARS + 1)}


def unspaced(text: str) -> str:
    """A text as it is compared: its beginning, without white space."""
    return "".join(text[:_MOST_CHARS].split())
