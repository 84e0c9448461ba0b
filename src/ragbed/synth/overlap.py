"""Detect documents that are too similar by their shared sequences of eight terms (8-grams)."""

from __future__ import annotations

import re
from typing import TypeAlias, TypeVar

from ragbed.schema import Item, Lang

GRAM = 8  # terms in a gram: words, or single Han characters
ENOUGH = 0.6  # share of a document's grams above which it is too similar to another document

T = TypeVar("T")
Grams: TypeAlias = set[tuple[str, ...]]

_TERM = re.compile(r"[a-z0-9]+|[\u3400-\u4dbf\u4e00-\u9fff]")
_HAN = re.compile(r"[\u3400-\u9fff]+")

# Share of repeated approximate grams above which exact grams are compared. In 120 items of 100 short documents, the
# pair above ENOUGH with the fewest approximate grams in common shared 0.55 of them.
_DOUBTFUL = 0.5


def terms_of(text: str) -> list[str]:
    """Return the terms of a text, lower-cased and without punctuation."""
    return _TERM.findall(text.lower())


def is_varied(item: Item) -> bool:
    """Tell whether no two documents of an item are too similar, apart from edits of each other.

    An approximate comparison accepts nearly all items; only the others are compared gram by gram.
    """
    texts = [passage.text for passage in item.passages if passage.edit_of is None]
    if not _repeated([_approximate_grams(text, item.lang) for text in texts], _DOUBTFUL):
        return True
    grams = [grams_of(text) for text in texts]
    return not any(
        len(grams[at] & other) > ENOUGH * len(grams[at])
        for at in _repeated(grams, ENOUGH)
        for other_at, other in enumerate(grams)
        if other_at != at
    )


def _repeated(grams: list[set[T]], share: float) -> list[int]:
    """Return the indexes of documents of which more than a share of the grams occurs in the others."""
    seen: set[T] = set()
    repeated: set[T] = set()
    for own in grams:
        repeated |= own & seen
        seen |= own
    return [at for at, own in enumerate(grams) if len(own & repeated) > share * len(own)]


def _approximate_grams(text: str, lang: Lang) -> set[object]:
    """Return three words of each gram, punctuation included, or grams of Han characters only, which is faster."""
    if lang == "zh":
        characters = "".join(_HAN.findall(text))
        return {characters[at : at + GRAM] for at in range(len(characters) - GRAM + 1)}
    words = text.split()
    return set(zip(words, words[4:], words[7:], strict=False))


def grams_of(text: str) -> Grams:
    """Return the sequences of GRAM terms of a text; a shorter text has one gram of all its terms."""
    terms = terms_of(text)
    if len(terms) < GRAM:
        return {tuple(terms)}
    return set(zip(*(terms[at:] for at in range(GRAM)), strict=False))
