"""Counterfactual robustness: the model knows the answer, the documents tell another, and a warning is given."""

from __future__ import annotations

from fractions import Fraction

from ragbed.testbeds.ability import Ability
from ragbed.testbeds.document_order import Ordered
from ragbed.testbeds.document_plan import Infeasible
from ragbed.testbeds.original_code import choose_counterfactual
from ragbed.testbeds.settings import CaseCondition, show_ratio


def _draw(ordered: Ordered, condition: CaseCondition, count: int) -> tuple[int, ...]:
    """Edited passages from the front, true ones from the back, never both forms of one passage."""
    true = condition.correct * condition.docs
    if true.denominator != 1:
        raise Infeasible(f"correct {show_ratio(condition.correct)} of {condition.docs} documents is no whole number")
    edited = count - int(true)
    if edited < 0:
        raise Infeasible(f"noise and correct together ask for more than {condition.docs} documents")
    front = ordered.contradicts[:edited]
    used = {ordered.item.passages[index].edit_of for index in front}
    if true and None in used:
        raise Infeasible("an edited document does not say which true one it falsifies (edit_of)")
    back = [index for index in _true_from_the_back(ordered) if index not in used][: int(true)]
    if len(front) < edited or len(back) < true:
        beside = f" beside {true} true ones" if true else ""
        raise Infeasible(f"needs {edited} edited documents{beside}, has {len(ordered.contradicts)} pairs")
    return (*front, *back[::-1])


def _true_from_the_back(ordered: Ordered) -> list[int]:
    """True passages in the reverse order of their edits, so that each next one is drawn after those before."""
    edited = [ordered.item.passages[index].edit_of for index in reversed(ordered.contradicts)]
    return list(dict.fromkeys([index for index in edited if index is not None] + list(ordered.supports)))


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
