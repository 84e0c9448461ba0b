"""The sub-questions of integration items, each with the documents of the complete question.

The difference to the complete question is the cost of integration.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from ragbed.data import Dataset
from ragbed.schema import Case, ScoreName
from ragbed.testbeds.integration import INTEGRATION
from ragbed.testbeds.settings import Settings


class Parts:
    """The testbed; it takes integration items that have a question for each part of the answer."""

    name = "parts"
    headline: ScoreName = "correct"
    secondary: tuple[ScoreName, ...] = ()

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yield one case per part for every integration case."""
        for item, case in INTEGRATION.cases_with_items(dataset, settings):
            texts = [document.text for document in case.documents]
            prefix, _, condition = case.case.rpartition(f"/{INTEGRATION.name}@")
            # Published items have no sub-questions; all others have one for each part.
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
