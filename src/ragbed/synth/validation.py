"""Whether an item is what it claims to be: checked for every one before it is written."""

from __future__ import annotations

from ragbed.schema import Answer, Item, Lang
from ragbed.synth.overlap import is_varied
from ragbed.text import spaceless

SHORTEST_ALIAS: dict[Lang, int] = {"en": 4, "zh": 3}
"""Characters below which an answer is found in texts by luck; see `ragbed lint`."""


def is_sound(item: Item) -> bool:
    """Whether an item may be written: it is true, and no two of its documents are too much alike."""
    return is_true(item) and is_varied(item)


def is_true(item: Item) -> bool:
    """Whether supporting documents give their answer and no other, and distracting ones none.

    Aliases are looked for lower-cased, in distracting documents also with spaces removed, which is
    the wider net; in supporting ones as they stand.
    """
    answers = _folded(item.answer)
    fakes = _folded(item.fake or ())
    if any(len(alias) < SHORTEST_ALIAS[item.lang] for slot in item.answer for alias in slot):
        return False
    question = spaceless(item.question)
    if any(alias in question for slot in answers for alias in slot) or _overlap(item.answer, item.fake):
        return False
    for passage in item.passages:
        text = spaceless(passage.text)
        told = [at for at, slot in enumerate(answers) if any(alias in text for alias in slot)]
        if passage.stance == "supports":
            part = passage.part or 0
            stated = any(alias.lower() in passage.text.lower() for alias in item.answer[part])
            if not stated or told != [part] or passage.support is None:
                return False
        elif told:
            return False
        is_false = any(alias in text for slot in fakes for alias in slot)
        if is_false != (passage.stance == "contradicts"):
            return False
    return True


def _folded(answer: Answer) -> list[list[str]]:
    return [[spaceless(alias) for alias in slot] for slot in answer]


def _overlap(answer: Answer, fake: Answer | None) -> bool:
    """Whether one of two answers contains another: parts of one answer, or the true and the false."""
    slots = [[spaceless(alias) for alias in slot] for slot in (*answer, *(fake or ()))]
    return any(
        one in two or two in one
        for at, first in enumerate(slots)
        for second in slots[at + 1 :]
        for one in first
        for two in second
    )
