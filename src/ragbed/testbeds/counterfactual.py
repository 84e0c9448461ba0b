"""Counterfactual robustness: documents contradict the model's knowledge, and the prompt warns of errors."""

from __future__ import annotations

from fractions import Fraction

from ragbed.testbeds.ability import Ability
from ragbed.testbeds.document_order import Ordered
from ragbed.testbeds.document_plan import Infeasible
from ragbed.testbeds.original_code import choose_counterfactual
from ragbed.testbeds.settings import CaseCondition, show_ratio


def _draw(ordered: Ordered, condition: CaseCondition, count: int) -> tuple[int, ...]:
    """Draw edited passages from the front of the list and true ones from the back, never both versions of a passage."""
    true = condition.correct * condition.docs
    if true.denominator != 1:
        raise Infeasible(
            f"with a true-document ratio of {show_ratio(condition.correct)}, the number of true documents "
            f"({float(true):.6g} of {condition.docs}) would not be a whole number"
        )
    edited = count - int(true)
    if edited < 0:
        raise Infeasible(f"the distractors and the true documents together would exceed {condition.docs} documents")
    front = ordered.contradicts[:edited]
    used = {ordered.item.passages[index].edit_of for index in front}
    if true and None in used:
        raise Infeasible("an edited document does not name the true document it was derived from (`edit_of`)")
    # True documents are drawn in reverse order, so that a higher ratio adds documents to those drawn for a lower ratio.
    originals = [ordered.item.passages[index].edit_of for index in reversed(ordered.contradicts)]
    available = dict.fromkeys([index for index in originals if index is not None] + list(ordered.supports))
    unused = [index for index in available if index not in used]
    if len(front) < edited or len(unused) < true:
        needed, found = (
            f"{one} edited documents and {two} other true documents" if true else f"{one} edited documents"
            for one, two in ((edited, int(true)), (len(ordered.contradicts), len(unused)))
        )
        raise Infeasible(f"the case requires {needed}, but the item has only {found}")
    return (*front, *unused[: int(true)][::-1])


COUNTERFACTUAL = Ability(
    name="counterfactual",
    takes="counterfactual",
    expect="correct",
    noise=(Fraction(0),),
    draw=_draw,
    choose_original=choose_counterfactual,
    headline="correct",
    secondary=("flagged",),
)
