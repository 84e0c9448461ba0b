"""Information integration: the parts of the answer are in different documents.

The `parts` testbed asks each sub-question separately, with the documents for the complete question. The difference
between the two testbeds' results is the cost of integration.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import structs

from ragbed.data import Dataset
from ragbed.schema import Case, ScoreName
from ragbed.testbeds.ability import Ability
from ragbed.testbeds.document_order import Ordered
from ragbed.testbeds.document_plan import Infeasible
from ragbed.testbeds.noise import draw_supporting
from ragbed.testbeds.original_code import choose_integration
from ragbed.testbeds.settings import CaseCondition, Settings


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


class Parts:
    """The `parts` testbed, for integration items that have a sub-question for each part of the answer."""

    name = "parts"
    headline: ScoreName = "correct"
    secondary: tuple[ScoreName, ...] = ()

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yield one case per sub-question for every integration case."""
        for item, case in INTEGRATION.cases_with_items(dataset, settings):
            texts = [document.text for document in case.documents]
            prefix, _, condition = case.case.rpartition(f"/{INTEGRATION.name}@")
            # RGB's published items have no sub-questions; all other items have one for each part of the answer.
            for part, (question, aliases) in enumerate(zip(item.sub_questions, item.answer, strict=False)):
                yield structs.replace(
                    case,
                    case=f"{prefix}/{self.name}@part={part},{condition}",
                    testbed=self.name,
                    question=question,
                    answer=(aliases,),
                    messages=settings.instructions.messages(item.lang, question, texts) if case.feasible else (),
                )


PARTS = Parts()
