"""Find texts that are nearly identical."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

GRAM_CHARS = 5  # number of characters per n-gram, not counting white space
# Near duplicates share at least four fifths of the shorter text's n-grams. Integer arithmetic avoids rounding errors.
_FIFTHS = 4
# Maximum number of characters to compare in each text, to limit memory use; RGB's longest text has 1,745 characters.
_MAX_CHARS = 100_000


def find_near(texts: Sequence[str]) -> list[set[int]]:
    """Return, for each text, the indexes of all of its near duplicates."""
    index = _GramIndex()
    near: list[set[int]] = [set() for _ in texts]
    for place, text in enumerate(texts):
        grams = _grams(text)
        near[place] = index.find(grams)
        for other in near[place]:
            near[other].add(place)
        index.add(grams)
    return near


class Distinct:
    """A filter that drops a text if it is a near duplicate of an earlier text."""

    def __init__(self) -> None:
        self._index = _GramIndex()

    def keep(self, text: str) -> bool:
        """Return whether a text differs enough from all earlier texts; if so, remember it for later comparisons."""
        grams = _grams(text)
        is_new = not self._index.find(grams)
        if is_new:
            self._index.add(grams)
        return is_new


class _GramIndex:
    """An index from n-grams to the texts that contain them, so that only texts with common n-grams are compared."""

    def __init__(self) -> None:
        self._holders: dict[str, list[int]] = {}
        self._sizes: list[int] = []  # the number of n-grams in each text

    def find(self, grams: set[str]) -> set[int]:
        """Return the texts of which a text with these n-grams is a near duplicate."""
        overlap = Counter(chain.from_iterable(self._holders[gram] for gram in grams if gram in self._holders))
        sizes = {other: min(len(grams), self._sizes[other]) for other in overlap}
        return {other for other, count in overlap.items() if 5 * count >= _FIFTHS * sizes[other]}

    def add(self, grams: set[str]) -> None:
        """Add a text."""
        for gram in grams:
            self._holders.setdefault(gram, []).append(len(self._sizes))
        self._sizes.append(len(grams))


def _grams(text: str) -> set[str]:
    text = unspaced(text)
    return {text[at : at + GRAM_CHARS] for at in range(len(text) - GRAM_CHARS + 1)}


def unspaced(text: str) -> str:
    """Remove white space from a text, and truncate it to the maximum length for comparison."""
    return "".join(text[:_MAX_CHARS].split())
