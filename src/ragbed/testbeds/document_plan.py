"""Which documents a case gets and where each stands, or why it cannot be had."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ragbed.schema import Document, Item
from ragbed.testbeds.document_bank import DocumentBank
from ragbed.testbeds.document_order import Ordered, as_documents, slot_of
from ragbed.testbeds.original_code import Chosen
from ragbed.testbeds.settings import Arm, CaseCondition, show_ratio


class Infeasible(Exception):
    """The item cannot supply what a condition asks; says what is wanting."""


@dataclass(frozen=True)
class DocumentPlan:
    """The documents of a case in prompt order, or the reason why there are none."""

    documents: tuple[Document, ...] = ()
    slots: tuple[int, ...] = ()
    noise_real: float | None = None
    reason: str | None = None


DrawEvidence = Callable[[Ordered, CaseCondition, int], tuple[int, ...]]
"""Our own draw: the passages, by index, that bear an answer, so many of them; or raises Infeasible."""

ChooseOriginal = Callable[[Item, CaseCondition, int], Chosen]
"""The original code's choice, of a year; or raises ValueError as it does."""


def plan_ours(
    ordered: Ordered, bank: DocumentBank, condition: CaseCondition, draw: DrawEvidence, turn: int
) -> DocumentPlan:
    """Lays out a condition exactly as asked, or says why not.

    Documents that bear an answer take the ranks from the first on, distracting ones those from the last back: at the
    next ratio one of them gives way to one of the others, and all the rest stay where they are.

    Args:
        ordered: The item, its pools in drawing order.
        bank: Documents of other questions.
        condition: What is asked.
        draw: The testbed's choice of documents that bear an answer.
        turn: The item's turn of the Latin square.
    """
    try:
        distracting = _whole(condition)
        evidence = draw(ordered, condition, condition.docs - distracting)
        distractors = _distractors(ordered, bank, condition.arm, distracting)
    except Infeasible as why:
        return DocumentPlan(reason=str(why))
    ranked = [ordered.documents[index] for index in evidence] + distractors[::-1]
    slots = [slot_of(rank, turn + condition.rotation, condition.docs) for rank in range(condition.docs)]
    placed = sorted(zip(slots, ranked, strict=True), key=lambda pair: pair[0])
    return DocumentPlan(
        documents=tuple(document for _, document in placed),
        slots=tuple(slots[: len(evidence)]),
        noise_real=distracting / condition.docs,
    )


def plan_original(item: Item, condition: CaseCondition, choose: ChooseOriginal, year: int) -> DocumentPlan:
    """Repeats the original code's choice, whatever mix comes of it."""
    try:
        chosen = choose(item, condition, year)
    except ValueError as error:
        return DocumentPlan(reason=f"the original code cannot: {error}")
    passages = as_documents(item)
    documents = tuple(passages[index] for index in chosen.placed)
    bearing = [index for index in chosen.drawn if item.passages[index].stance != "distracts"]
    return DocumentPlan(
        documents=documents,
        slots=tuple(chosen.placed.index(index) for index in bearing),
        noise_real=(len(documents) - len(bearing)) / len(documents) if documents else None,
    )


def _whole(condition: CaseCondition) -> int:
    exact = condition.distracting
    if exact.denominator == 1:
        return int(exact)
    near = [ratio for step in (0, 1) if (ratio := Fraction(int(exact) + step, condition.docs)) < 1]
    raise Infeasible(
        f"noise {show_ratio(condition.noise)} of {condition.docs} documents is {float(exact):.6g} documents; "
        f"ask for {' or '.join(map(show_ratio, near))}"
    )


def _distractors(ordered: Ordered, bank: DocumentBank, arm: Arm, count: int) -> list[Document]:
    if not count:
        return []
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
