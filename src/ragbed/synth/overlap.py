"""How much documents share: the stretches of eight terms that one has in common with another."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias, TypeVar

from ragbed.schema import Item, Lang, Passage

GRAM = 8
"""Terms of a shared stretch: words, or single Han characters."""
ENOUGH = 0.6
"""Share of a document's grams above which a pair of documents is too much alike."""

T = TypeVar("T")
Grams: TypeAlias = set[tuple[str, ...]]

_TERM = re.compile(r"[a-z0-9]+|[\u3400-\u4dbf\u4e00-\u9fff]")
_BUCKETS = 1 << 26
_HAN = re.compile(r"[\u3400-\u9fff]+")
_DOUBTFUL = 0.5
"""Share of repeated glimpses above which grams are counted: of all pairs too much alike in 120 items of 100 short
documents, the one with the fewest glimpses in common had 0.55 of them."""


class OverlapReport(NamedTuple):
    """The documents of a sample that share most.

    Attributes:
        documents: How many were compared, each with each.
        worst: The largest share of one document's grams found in another, or ENOUGH if none is larger.
        pairs: Those above ENOUGH, the worst first: share and both texts.
    """

    documents: int
    worst: float
    pairs: tuple[tuple[float, str, str], ...]


def terms_of(text: str) -> list[str]:
    """The terms of a text, lower-cased, without punctuation."""
    return _TERM.findall(text.lower())


def is_varied(item: Item) -> bool:
    """Whether no two documents of an item are too much alike; edits, which are meant to be, aside.

    A quick look clears nearly all items; only the others are compared gram by gram.
    """
    texts = [passage.text for passage in item.passages if passage.edit_of is None]
    if not _repeats([_glimpses(text, item.lang) for text in texts], _DOUBTFUL):
        return True
    grams = [_grams(text) for text in texts]
    return not any(
        len(grams[at] & other) > ENOUGH * len(grams[at])
        for at in _repeats(grams, ENOUGH)
        for place, other in enumerate(grams)
        if place != at
    )


def _repeats(grams: list[set[T]], share: float) -> list[int]:
    """The places of those of which more than a share occurs in the others."""
    seen: set[T] = set()
    repeated: set[T] = set()
    for own in grams:
        repeated |= own & seen
        seen |= own
    return [at for at, own in enumerate(grams) if len(own & repeated) > share * len(own)]


def _glimpses(text: str, lang: Lang) -> set[object]:
    """About what grams are, sooner made: three words of each, punctuation and all, or Han characters alone."""
    if lang == "zh":
        signs = "".join(_HAN.findall(text))
        return {signs[at : at + GRAM] for at in range(len(signs) - GRAM + 1)}
    words = text.split()
    return set(zip(words, words[4:], words[7:], strict=False))


def measure_overlap(items: Iterable[Item]) -> OverlapReport:
    """Finds every pair of documents of which one holds more than ENOUGH of the other's grams.

    Exact, without comparing all pairs: a document can be such a one only if more than that share of its
    grams occur elsewhere at all, which few do. An item and its twin are meant to be alike and are not
    compared; nor are a document and its falsified edit.
    """
    texts: list[str] = []
    kin: list[tuple[str, str]] = []
    grams: list[array[int]] = []
    counts = bytearray(_BUCKETS)
    for item in items:
        for at, passage in enumerate(item.passages):
            own = array("q", set(map(hash, _grams(passage.text))))  # a fifth of the memory
            for gram in own:
                counts[gram % _BUCKETS] = min(counts[gram % _BUCKETS] + 1, 2)
            texts.append(passage.text)
            kin.append((item.event or item.id, f"{item.id}/{_original(passage, at)}"))
            grams.append(own)
    suspects = [at for at, own in enumerate(grams) if _is_suspect(own, counts)]
    index: dict[int, list[int]] = {gram: [] for at in suspects for gram in grams[at]}
    for at, own in enumerate(grams):
        for gram in own:
            if gram in index:
                index[gram].append(at)
    pairs = {}
    for at in suspects:
        for other, shared in _sharers(at, grams, index):
            if shared > ENOUGH and not _are_kin(kin[at], kin[other]):
                pairs[frozenset((at, other))] = (shared, texts[at], texts[other])
    found = sorted(pairs.values(), reverse=True)
    return OverlapReport(len(texts), found[0][0] if found else ENOUGH, tuple(found))


def _grams(text: str) -> Grams:
    terms = terms_of(text)
    if len(terms) < GRAM:
        return {tuple(terms)}
    return set(zip(*(terms[at:] for at in range(GRAM)), strict=False))


def _original(passage: Passage, at: int) -> int:
    return at if passage.edit_of is None else passage.edit_of


def _are_kin(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two documents are alike on purpose: of an item and its twin, or an edit of one another."""
    is_same_item = one[1].split("/")[0] == other[1].split("/")[0]
    return one[1] == other[1] if is_same_item else one[0] == other[0]


def _is_suspect(own: array[int], counts: bytearray) -> bool:
    return sum(counts[gram % _BUCKETS] > 1 for gram in own) > ENOUGH * len(own)


def _sharers(at: int, grams: list[array[int]], index: dict[int, list[int]]) -> Iterator[tuple[int, float]]:
    """Other documents and the share of this one's grams that they hold, none above ENOUGH left out.

    Who holds more than that share holds one of the rarest grams of the rest, so only these are followed:
    the frequent ones lead to thousands of documents.
    """
    own = grams[at]
    rarest = sorted(own, key=lambda gram: len(index[gram]))[: int(len(own) * (1 - ENOUGH)) + 1]
    others = {other for gram in rarest for other in index[gram]} - {at}
    wanted = set(own)
    for other in others:
        yield other, len(wanted.intersection(grams[other])) / len(own)
