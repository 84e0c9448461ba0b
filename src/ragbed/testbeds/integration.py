"""Information integration: the parts of the answer are in different documents."""

from __future__ import annotations

from fractions import Fraction

from ragbed.testbeds.ability import Ability
from ragbed.testbeds.document_order import Ordered
from ragbed.testbeds.document_plan import Infeasible
from ragbed.testbeds.noise import draw_supporting
from ragbed.testbeds.original_code import choose_integration
from ragbed.testbeds.settings import CaseCondition


def _draw(ordered: Ordered, condition: CaseCondition, count: int) -> tuple[int, ...]:
    parts = len({ordered.item.passages[index].part for index in ordered.supports})
    if count < parts:
        raise Infeasible(
            f"each of the {parts} sub-questions requires a document, but this noise ratio leaves only {count}"
        )
    return draw_supporting(ordered, condition, count)


INTEGRATION = Ability(
    name="integration",
    takes="integration",
    expect="answer",
    noise=tuple(Fraction(tenths, 10) for tenths in (0, 2, 4)),
    draw=_draw,
    choose_original=choose_integration,
    headline="correct",
)
