"""Find texts that are nearly identical."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

GRAM_CHARS = 5  # number of characters per n-gram, not counting white space
# Near duplicates share at least four fifths of the shorter text's n-grams. Integer arithmetic avoids rounding errors.
_FIFTHS = 4
# Maximum number of characters to compare in each text, to limit memory use; RGB's longest text has 1,745 characters.
_MAX_CHARS = 100_000


def find_near(texts: Sequence[str]) -> list[set[int]]:
    """Return, for each text, the indexes of all of its near duplicates."""
    near: list[set[int]] = [set() for _ in texts]
    for (place, grams), (other, others) in combinations(enumerate(map(_grams, texts)), 2):
        if _are_near(grams, others):
            near[place].add(other)
            near[other].add(place)
    return near


class Distinct:
    """A filter that drops a text if it is a near duplicate of an earlier text."""

    def __init__(self) -> None:
        self._kept: list[set[str]] = []  # the n-grams of each text

    def keep(self, text: str) -> bool:
        """Return whether a text differs enough from all earlier texts; if so, remember it for later comparisons."""
        grams = _grams(text)
        is_new = not any(_are_near(grams, others) for others in self._kept)
        if is_new:
            self._kept.append(grams)
        return is_new


def _are_near(grams: set[str], others: set[str]) -> bool:
    """Check whether texts with these n-grams are near duplicates; comparing sets is faster than an index of n-grams."""
    shorter = min(len(grams), len(others))
    return shorter > 0 and 5 * len(grams & others) >= _FIFTHS * shorter


def _grams(text: str) -> set[str]:
    text = unspaced(text)
    return {text[at : at + GRAM_CHARS] for at in range(len(text) - GRAM_CHARS + 1)}


def unspaced(text: str) -> str:
    """Remove white space from a text, and truncate it to the maximum length for comparison."""
    return "".join(text[:_MAX_CHARS].split())
