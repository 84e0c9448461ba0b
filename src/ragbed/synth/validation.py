"""Check an item before it is written: its labels are true and its documents differ from each other."""

from __future__ import annotations

from itertools import combinations

from ragbed.schema import Answer, Item, Lang
from ragbed.synth.overlap import is_varied
from ragbed.text import holds_slot, spaceless

# Minimum length of an alias; shorter ones occur in texts by chance (see `ragbed lint`).
SHORTEST_ALIAS: dict[Lang, int] = {"en": 4, "zh": 3}


def is_valid(item: Item) -> bool:
    """Tell whether the labels of an item are true and no two of its documents are too similar."""
    return is_true(item) and is_varied(item)


def is_true(item: Item) -> bool:
    """Tell whether supporting documents contain their answer and no other, and distracting ones contain none.

    Aliases are compared without case. Spaces are ignored too, which finds more of them, except where a supporting
    document must contain its answer.
    """
    answers, fakes = _fold(item.answer), _fold(item.fake or ())
    if any(len(alias) < SHORTEST_ALIAS[item.lang] for slot in item.answer for alias in slot):
        return False
    if any(_contains(spaceless(item.question), slot) for slot in answers) or _overlap([*answers, *fakes]):
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


def _overlap(slots: list[list[str]]) -> bool:
    """Tell whether an alias of one slot contains an alias of another slot."""
    return any(
        one in other or other in one for first, second in combinations(slots, 2) for one in first for other in second
    )
