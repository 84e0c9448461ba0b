"""Check, before an item is written, that its labels are correct and that its documents differ from each other.

Documents are too similar if they share too many sequences of eight terms (8-grams).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import TypeAlias

from ragbed.schema import Answer, Item, Lang
from ragbed.text import holds_slot, spaceless

GRAM = 8  # number of terms in an n-gram; terms are words or single Han characters
ENOUGH = 0.6  # fraction of shared n-grams above which two documents are too similar

Grams: TypeAlias = set[tuple[str, ...]]

_TERM = re.compile(r"[a-z0-9]+|[\u3400-\u4dbf\u4e00-\u9fff]")

# Minimum length of an alias in characters; shorter aliases occur in texts by chance (see `ragbed lint`).
SHORTEST_ALIAS: dict[Lang, int] = {"en": 4, "zh": 3}


# Maximum number of attempts to generate one item. About one item in fifteen is rejected because a distractor contains
# the answer by chance ("48 votes" in "148 votes"). 200 consecutive failures indicate a defect in the phrase banks.
_ATTEMPTS = 200


def draw_valid(make: Callable[[int], Mapping[bool, Item]], what: str) -> Mapping[bool, Item]:
    """Return the first valid item, or the first minimal pair of two valid items.

    Args:
        make: Generates the items, by whether their perturbation is on, from the number of the attempt.
        what: Description of the item, for the error.
    """
    for attempt in range(_ATTEMPTS):
        items = make(attempt)
        if all(map(is_valid, items.values())):
            return items
    raise AssertionError(f"could not generate a valid item in {_ATTEMPTS} attempts: {what}")


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
    pairs = ((one, other) for first, second in combinations([*answers, *fakes], 2) for one in first for other in second)
    if any(_contains(spaceless(item.question), slot) for slot in answers) or any(a in b or b in a for a, b in pairs):
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


def is_varied(item: Item) -> bool:
    """Return whether an item's documents, except edited versions, differ enough from each other."""
    grams = [grams_of(passage.text) for passage in item.passages if passage.edit_of is None]
    seen: Grams = set()
    repeated: Grams = set()
    for own in grams:
        repeated |= own & seen
        seen |= own
    for own in grams:
        least = ENOUGH * len(own)
        if len(own & repeated) > least and any(len(own & other) > least for other in grams if other is not own):
            return False
    return True


def terms_of(text: str) -> list[str]:
    """Return the terms of a text, lower-cased and without punctuation."""
    return _TERM.findall(text.lower())


def grams_of(text: str) -> Grams:
    """Return all sequences of GRAM terms in a text; a shorter text has a single n-gram with all of its terms."""
    terms = terms_of(text)
    return {tuple(terms)} if len(terms) < GRAM else set(zip(*(terms[at:] for at in range(GRAM)), strict=False))
