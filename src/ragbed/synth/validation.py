"""Check, before an item is written, that its labels are correct and that its documents differ from each other.

Documents are too similar if they share too many sequences of eight terms (8-grams).
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import TypeAlias, TypeVar

from ragbed.schema import Answer, Item, Lang
from ragbed.text import holds_slot, spaceless

GRAM = 8  # number of terms in an n-gram; terms are words or single Han characters
ENOUGH = 0.6  # share of common n-grams above which two documents are too similar

T = TypeVar("T")
Grams: TypeAlias = set[tuple[str, ...]]

_TERM = re.compile(r"[a-z0-9]+|[\u3400-\u4dbf\u4e00-\u9fff]")
_HAN = re.compile(r"[\u3400-\u9fff]+")

# Share of repeated approximate n-grams above which exact n-grams are compared. In a test with 120 items of 100 short
# documents each, all pairs above ENOUGH shared at least 0.55 of their approximate n-grams.
_DOUBTFUL = 0.5

# Minimum length of an alias in characters; shorter aliases occur in texts by chance (see `ragbed lint`).
SHORTEST_ALIAS: dict[Lang, int] = {"en": 4, "zh": 3}


def is_valid(item: Item) -> bool:
    """Return whether an item's labels are correct and no two of its documents are too similar."""
    return is_true(item) and is_varied(item)


def is_true(item: Item) -> bool:
    """Return whether supporting documents contain only their own answer and distractors contain no answer.

    Case is ignored when aliases are compared. Spaces are also ignored, which finds more matches, except when checking
    that a supporting document contains its answer.
    """
    answers, fakes = _fold(item.answer), _fold(item.fake or ())
    if any(len(alias) < SHORTEST_ALIAS[item.lang] for slot in item.answer for alias in slot):
        return False
    if any(_contains(spaceless(item.question), slot) for slot in answers) or _have_overlapping_aliases(
        [*answers, *fakes]
    ):
        return False
    for passage in item.passages:
        text = spaceless(passage.text)
        parts = [part for part, slot in enumerate(answers) if _contains(text, slot)]
        expected = []
        if passage.stance == "supports":
            expected = [passage.part or 0]
            if passage.support is None or not holds_slot(passage.text.lower(), item.answer[expected[0]]):
                return False
        is_false = any(_contains(text, slot) for slot in fakes)
        if parts != expected or is_false != (passage.stance == "contradicts"):
            return False
    return True


def _fold(answer: Answer) -> list[list[str]]:
    return [[spaceless(alias) for alias in slot] for slot in answer]


def _contains(text: str, aliases: list[str]) -> bool:
    return any(alias in text for alias in aliases)


def _have_overlapping_aliases(slots: list[list[str]]) -> bool:
    return any(
        one in other or other in one for first, second in combinations(slots, 2) for one in first for other in second
    )


def terms_of(text: str) -> list[str]:
    """Return the terms of a text, lower-cased and without punctuation."""
    return _TERM.findall(text.lower())


def is_varied(item: Item) -> bool:
    """Return whether an item's documents, except edited versions, differ enough from each other.

    An approximate comparison accepts nearly all items; only the others are compared exactly.
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
    """Return the indexes of documents with more than the given share of n-grams in common with other documents."""
    seen: set[T] = set()
    repeated: set[T] = set()
    for own in grams:
        repeated |= own & seen
        seen |= own
    return [at for at, own in enumerate(grams) if len(own & repeated) > share * len(own)]


def _approximate_grams(text: str, lang: Lang) -> set[object]:
    """Return approximate n-grams, which are faster to compute than exact ones.

    They consist of three words from each n-gram, including punctuation or, for Chinese, of Han characters only.
    """
    if lang == "zh":
        characters = "".join(_HAN.findall(text))
        return {characters[at : at + GRAM] for at in range(len(characters) - GRAM + 1)}
    words = text.split()
    return set(zip(words, words[4:], words[7:], strict=False))


def grams_of(text: str) -> Grams:
    """Return all sequences of GRAM terms in a text; a shorter text has a single n-gram with all of its terms."""
    terms = terms_of(text)
    if len(terms) < GRAM:
        return {tuple(terms)}
    return set(zip(*(terms[at:] for at in range(GRAM)), strict=False))
