"""Plan a case's documents and their positions, or explain why the case is infeasible."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from msgspec import Struct

from ragbed.schema import Document, Item
from ragbed.testbeds.document_bank import BEFORE, DocumentBank
from ragbed.testbeds.document_order import Ordered, as_document, slots_of
from ragbed.testbeds.original_code import Chosen
from ragbed.testbeds.settings import CaseCondition, show_ratio


class Infeasible(Exception):
    """Raised when an item cannot supply the documents for a condition; the message says what is missing."""


class DocumentPlan(Struct, frozen=True):
    """A case's documents in prompt order, or the reason why the case is infeasible."""

    documents: tuple[Document, ...] = ()
    slots: tuple[int, ...] = ()
    noise_real: float | None = None
    reason: str | None = None


# A function that returns the indexes of a given number of passages that contain an answer, or raises Infeasible.
DrawEvidence = Callable[[Ordered, CaseCondition, int], tuple[int, ...]]

# A function that selects the same documents as the original code of a given year, or raises ValueError if that code
# fails.
ChooseOriginal = Callable[[Item, CaseCondition, int], Chosen]


def plan_ours(
    ordered: Ordered, bank: DocumentBank, condition: CaseCondition, draw: DrawEvidence, turn: int
) -> DocumentPlan:
    """Return the exact mix of documents for a condition, or the reason why the mix is infeasible.

    Documents with an answer get the first ranks, and distractors get the last ranks in reverse order. Therefore, adding
    a distractor replaces one document and leaves all others in their positions.

    Args:
        ordered: The item with its passages in drawing order.
        bank: Documents from other questions.
        condition: The condition.
        draw: The testbed's function for selecting documents that contain an answer.
        turn: The item's rotation of the Latin square.
    """
    try:
        distracting = _distractor_count(condition)
        evidence = draw(ordered, condition, condition.docs - distracting)
        distractors = _distractors(ordered, bank, condition.arm, distracting)
    except Infeasible as why:
        return DocumentPlan(reason=str(why))
    ranked = ordered.documents(evidence) + distractors[::-1]
    slots = slots_of((turn + condition.rotation) % condition.docs, condition.docs)
    placed = dict(zip(slots, ranked, strict=True))
    return DocumentPlan(
        documents=tuple([placed[slot] for slot in range(condition.docs)]),
        slots=slots[: len(evidence)],
        noise_real=distracting / condition.docs,
    )


def plan_original(item: Item, condition: CaseCondition, choose: ChooseOriginal, year: int) -> DocumentPlan:
    """Plan the documents that the original code selects, even if the mix differs from the requested one."""
    try:
        chosen = choose(item, condition, year)
    except ValueError as error:
        return DocumentPlan(reason=f"the original code cannot: {error}")
    documents = tuple(as_document(item, index) for index in chosen.placed)
    bearing = [index for index in chosen.drawn if item.passages[index].stance != "distracts"]
    return DocumentPlan(
        documents=documents,
        slots=tuple(chosen.placed.index(index) for index in bearing),
        noise_real=(len(documents) - len(bearing)) / len(documents) if documents else None,
    )


def _distractor_count(condition: CaseCondition) -> int:
    exact = condition.distracting
    if exact.denominator == 1:
        return int(exact)
    near = [ratio for step in (0, 1) if (ratio := Fraction(int(exact) + step, condition.docs)) < 1]
    raise Infeasible(
        f"a noise ratio of {show_ratio(condition.noise)} would require {float(exact):.6g} distractors among "
        f"{condition.docs} "
        f"documents; use {' or '.join(map(show_ratio, near))}"
    )


def _distractors(ordered: Ordered, bank: DocumentBank, arm: str, count: int) -> list[Document]:
    if not count:
        return []
    related = [] if arm == "random" else ordered.documents(ordered.distracts[:count])
    if arm != "random" and len(related) < count:
        raise Infeasible(f"the case requires {count} distracting documents, but the item has only {len(related)}")
    if arm in ("related", "fixed"):
        return related
    found = bank.random(count) if arm == "random" else bank.control([len(document.text) for document in related])
    if len(found) < count:
        lengths = "" if arm == "random" else " and are at least as long as the distractors that they replace"
        raise Infeasible(
            f"the case requires {count} documents from other questions that do not contain the answer{lengths}, but "
            f"only {len(found)} were found"
            + (f"; more than {BEFORE} require a dataset of at least {BEFORE + 1} items" if count > BEFORE else "")
        )
    return found
