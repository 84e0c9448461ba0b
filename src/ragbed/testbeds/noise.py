"""Noise robustness: some documents contain the answer. Negative rejection: all documents are distractors."""

from __future__ import annotations

from fractions import Fraction

from msgspec.structs import replace

from ragbed.testbeds.ability import Ability
from ragbed.testbeds.document_order import Ordered
from ragbed.testbeds.document_plan import Infeasible
from ragbed.testbeds.original_code import choose_base
from ragbed.testbeds.settings import CaseCondition


def draw_supporting(ordered: Ordered, condition: CaseCondition, count: int) -> tuple[int, ...]:
    """Return the first `count` supporting passages."""
    if count > len(ordered.supports):
        raise Infeasible(
            f"the case requires {count} supporting documents, but the item has only {len(ordered.supports)}"
        )
    return ordered.supports[:count]


NOISE = Ability(
    name="noise",
    takes="base",
    expect="answer",
    noise=tuple(Fraction(tenths, 10) for tenths in (0, 2, 4, 6, 8)),
    draw=draw_supporting,
    choose_original=choose_base,
    headline="correct",
)
REJECTION = replace(NOISE, name="rejection", expect="refuse", noise=(Fraction(1),), headline="refused")
