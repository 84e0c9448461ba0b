"""Select and order documents as RGB's original code does, including its bugs.

The original code resets Python's random generator before every question, so the order is the same for all questions
with the same number of documents. It takes documents from the front of each list, compensates for a shortage only
partly or not at all, and rounds floats up without correcting their representation error.
"""

from __future__ import annotations

import random
from itertools import zip_longest
from math import ceil
from typing import NamedTuple

from ragbed.schema import Item, Stance
from ragbed.testbeds.settings import CaseCondition

_RESET = 2333


class Chosen(NamedTuple):
    """The indexes of the chosen passages, both in selection order and in prompt order."""

    drawn: list[int]
    placed: list[int]


def choose_base(item: Item, condition: CaseCondition, year: int) -> Chosen:
    """Choose documents for the noise and rejection testbeds: the first supporting documents and the first distractors.

    If there are too few of one kind, documents of the other kind are added, except at a noise ratio of 1.
    """
    docs, noise = condition.docs, float(condition.noise)
    positive, negative = _pool(item, "supports"), _pool(item, "distracts")
    wanted_negative = ceil(docs * noise)
    wanted_positive = docs - wanted_negative
    if noise == 1:
        wanted_positive, wanted_negative = 0, docs
    elif wanted_negative > len(negative):
        wanted_negative = len(negative)
        wanted_positive = docs - wanted_negative
    elif wanted_positive > len(positive):
        wanted_positive = len(positive)
        wanted_negative = docs - wanted_positive
    return _shuffle(random.Random(_RESET), positive[:wanted_positive] + negative[:wanted_negative])


def choose_integration(item: Item, condition: CaseCondition, year: int) -> Chosen:
    """Choose one supporting document per sub-question, then more in further rounds, then distractors."""
    rng = random.Random(_RESET)
    wanted = condition.docs - ceil(condition.docs * float(condition.noise))
    parts: dict[int, list[int]] = {}
    for index in _pool(item, "supports"):
        parts.setdefault(item.passages[index].part or 0, []).append(index)
    lists = [parts[part] for part in sorted(parts)]
    for positives in lists:
        rng.shuffle(positives)
    drawn = [positives[0] for positives in lists]
    rounds = zip_longest(*(positives[1:] for positives in lists))
    further = [index for together in rounds for index in together if index is not None]
    # The 2023 code stops only when the count equals the target right after an append. If the count has already reached
    # the target, the code therefore adds all remaining documents.
    if len(drawn) < wanted:
        drawn += further[: wanted - len(drawn)]
    elif year == 2023:
        drawn += further
    drawn += _pool(item, "distracts")[: max(0, condition.docs - len(drawn))]
    return _shuffle(rng, drawn)


def choose_counterfactual(item: Item, condition: CaseCondition, year: int) -> Chosen:
    """Choose edited documents at random, true documents whose edited version was not chosen, and the first distractors.

    Raises:
        ValueError: The noise and true-document ratios add up to more than 1, in which case the original code fails too;
            or an item has true documents without an edited version, which never happens in RGB's own items.
    """
    rng = random.Random(_RESET)
    true = _pool(item, "supports")
    edits = {passage.edit_of: index for index, passage in enumerate(item.passages) if passage.edit_of is not None}
    if not edits.keys() >= set(true):
        raise ValueError("a supporting document has no edited version")
    wanted_negative, wanted_true = (
        ceil(condition.docs * float(share)) for share in (condition.noise, condition.correct)
    )
    wrong = rng.sample(range(len(true)), min(len(true), condition.docs - wanted_negative - wanted_true))
    drawn = [edits[true[position]] for position in wrong]
    left = [position for position in range(len(true)) if position not in wrong]
    if wanted_true > 0 and left:
        drawn += [true[position] for position in rng.sample(left, min(len(left), wanted_true))]
    drawn += _pool(item, "distracts")[:wanted_negative]
    return _shuffle(rng, drawn)


def _pool(item: Item, stance: Stance) -> list[int]:
    return [index for index, passage in enumerate(item.passages) if passage.stance == stance]


def _shuffle(rng: random.Random, drawn: list[int]) -> Chosen:
    placed = list(drawn)
    rng.shuffle(placed)
    return Chosen(drawn, placed)
