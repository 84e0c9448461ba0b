"""The parts of integration questions, each asked by itself with the documents that the whole question has.

What a model can answer part by part and not at once is what integration costs it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from ragbed.data import Dataset
from ragbed.schema import Case, ScoreName
from ragbed.testbeds.integration import INTEGRATION
from ragbed.testbeds.settings import Settings


class Parts:
    """The testbed; takes integration items that name a question for each part of the answer."""

    name = "parts"
    headline: ScoreName = "correct"
    secondary: tuple[ScoreName, ...] = ()

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yields, for every integration case, one of each part."""
        for item, case in INTEGRATION.laid_out(dataset, settings):
            texts = [document.text for document in case.documents]
            where, _, condition = case.case.rpartition(f"/{INTEGRATION.name}@")
            # Published items have no such questions, and all others one for each part.
            for part, (question, aliases) in enumerate(zip(item.sub_questions, item.answer, strict=False)):
                yield structs.replace(
                    case,
                    case=f"{where}/{self.name}@part={part},{condition}",
                    testbed=self.name,
                    question=question,
                    answer=(aliases,),
                    messages=settings.instructions.messages(item.lang, question, texts) if case.feasible else (),
                )


PARTS = Parts()
