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
    """Return, for each text, the indexes of all of its near duplicates.

    An n-gram that occurs in only one text cannot be shared, so a text that consists mostly of such n-grams needs no
    comparison. For the other texts, shared n-grams are counted with an index from n-grams to texts.
    """
    grams = [_grams(text) for text in texts]
    frequency = Counter(chain.from_iterable(grams))
    common = {gram for gram, count in frequency.items() if count > 1}
    shared = [own & common for own in grams]
    candidates = [index for index, some in enumerate(shared) if 5 * len(some) >= _FIFTHS * len(grams[index])]
    holders: dict[str, list[int]] = {gram: [] for index in candidates for gram in shared[index]}
    for index, some in enumerate(shared):
        for gram in some & holders.keys():
            holders[gram].append(index)
    near: list[set[int]] = [set() for _ in texts]
    for index in candidates:
        size = len(grams[index])
        overlap = Counter(chain.from_iterable(holders[gram] for gram in shared[index]))
        for other, count in overlap.items():
            if other != index and size <= len(grams[other]) and 5 * count >= _FIFTHS * size:
                near[index].add(other)
                near[other].add(index)
    return near


class Distinct:
    """A filter that drops a text if it is a near duplicate of an earlier text."""

    def __init__(self) -> None:
        self._holders: dict[str, list[int]] = {}  # the texts that contain an n-gram
        self._sizes: list[int] = []  # the number of n-grams in each text

    def keep(self, text: str) -> bool:
        """Return whether a text differs enough from all earlier texts; if so, remember it for later comparisons."""
        grams = _grams(text)
        overlap = Counter(chain.from_iterable(self._holders.get(gram, ()) for gram in grams))
        if any(5 * count >= _FIFTHS * min(len(grams), self._sizes[other]) for other, count in overlap.items()):
            return False
        for gram in grams:
            self._holders.setdefault(gram, []).append(len(self._sizes))
        self._sizes.append(len(grams))
        return True


def _grams(text: str) -> set[str]:
    text = unspaced(text)
    return {text[at : at + GRAM_CHARS] for at in range(len(text) - GRAM_CHARS + 1)}


def unspaced(text: str) -> str:
    """Remove white space from a text, and truncate it to the maximum length for comparison."""
    return "".join(text[:_MAX_CHARS].split())
