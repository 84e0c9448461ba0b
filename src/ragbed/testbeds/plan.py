"""Which documents a case gets and where each stands, or why it cannot be had."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ragbed.schema import Document, Item
from ragbed.testbeds.bank import Bank
from ragbed.testbeds.order import Ordered, as_documents, slot_of
from ragbed.testbeds.original import Chosen
from ragbed.testbeds.settings import Arm, Condition, show_ratio


class Infeasible(Exception):
    """The item cannot supply what a condition asks; says what is wanting."""


@dataclass(frozen=True)
class Plan:
    """The documents of a case in prompt order, or the reason why there are none."""

    documents: tuple[Document, ...] = ()
    slots: tuple[int, ...] = ()
    noise_real: float | None = None
    reason: str | None = None


DrawEvidence = Callable[[Ordered, Condition, int], tuple[int, ...]]
"""Our own draw: the passages, by index, that bear an answer, so many of them; or raises Infeasible."""

ChooseOriginal = Callable[[Item, Condition, int], Chosen]
"""The original code's choice, of a year; or raises ValueError as it does."""


def plan_ours(ordered: Ordered, bank: Bank, condition: Condition, draw: DrawEvidence, turn: tuple[int, int]) -> Plan:
    """Lays out a condition exactly as asked, with balanced positions, or says why not.

    Args:
        ordered: The item, its pools in drawing order.
        bank: Documents of other questions.
        condition: What is asked.
        draw: The testbed's choice of documents that bear an answer.
        turn: Ordinal of the item, and seed: where the first document stands.
    """
    try:
        distracting = _whole(condition)
        evidence = draw(ordered, condition, condition.docs - distracting)
        drawn = [ordered.documents[index] for index in evidence]
        drawn += _distractors(ordered, bank, condition.arm, distracting)
    except Infeasible as why:
        return Plan(noise_real=_nearest(ordered, condition), reason=str(why))
    ordinal, seed = turn
    slots = [slot_of(rank, ordinal + condition.rotation, seed, condition.docs) for rank in range(condition.docs)]
    placed = sorted(zip(slots, drawn, strict=True), key=lambda pair: pair[0])
    return Plan(
        documents=tuple(document for _, document in placed),
        slots=tuple(slots[: len(evidence)]),
        noise_real=distracting / condition.docs,
    )


def plan_original(item: Item, condition: Condition, choose: ChooseOriginal, year: int) -> Plan:
    """Repeats the original code's choice, whatever mix comes of it."""
    try:
        chosen = choose(item, condition, year)
    except ValueError as error:
        return Plan(reason=f"the original code fails here: {error}")
    passages = as_documents(item)
    documents = tuple(passages[index] for index in chosen.placed)
    bearing = [index for index in chosen.drawn if item.passages[index].stance != "distracts"]
    return Plan(
        documents=documents,
        slots=tuple(chosen.placed.index(index) for index in bearing),
        noise_real=(len(documents) - len(bearing)) / len(documents) if documents else None,
    )


def _whole(condition: Condition) -> int:
    exact = condition.distracting
    if exact.denominator == 1:
        return int(exact)
    near = (Fraction(int(exact) + step, condition.docs) for step in (0, 1))
    raise Infeasible(
        f"noise {show_ratio(condition.noise)} of {condition.docs} documents is {float(exact):.3g} documents; "
        f"ask for {' or '.join(map(show_ratio, near))}"
    )


def _distractors(ordered: Ordered, bank: Bank, arm: Arm, count: int) -> list[Document]:
    related = [ordered.documents[index] for index in ordered.distracts[:count]]
    if arm in ("related", "fixed", "control") and len(related) < count:
        raise Infeasible(f"needs {count} distracting documents, has {len(related)}")
    if arm in ("related", "fixed"):
        return related
    lengths = [len(document.text) for document in related]
    found = bank.control(lengths) if arm == "control" else bank.random(count)
    if len(found) < count:
        raise Infeasible(f"needs {count} documents of other questions without the answer, found {len(found)}")
    return found


def _nearest(ordered: Ordered, condition: Condition) -> float | None:
    """The share of distracting documents that comes nearest to the one asked for."""
    bearing, distracting = len(ordered.contradicts or ordered.supports), len(ordered.distracts)
    fewest, most = max(0, condition.docs - bearing), min(condition.docs, distracting)
    if fewest > most:
        return distracting / (bearing + distracting) if bearing + distracting else None
    return min(max(round(condition.distracting), fewest), most) / condition.docs
