"""Closed book: the question alone, to see what a model knows without documents.

`no-documents` asks the same with the instruction that belongs to documents, and none of them: whether a model declines
may hang on being told how to (claim C9).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from ragbed.datasets import Dataset
from ragbed.schema import Case
from ragbed.testbeds.names import name_case
from ragbed.testbeds.settings import Settings


@dataclass(frozen=True)
class ClosedBook:
    """A testbed without documents; takes every item."""

    name: str
    documents: Sequence[str] | None
    """For the prompt."""

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yields every item once."""
        for item in islice(dataset.items(), dataset.resolve_limit(settings.limit)):
            if item.lang in settings.langs:
                yield Case(
                    case=name_case(dataset.name, item.id, self.name, settings.label),
                    data=dataset.name,
                    item=item.id,
                    lang=item.lang,
                    testbed=self.name,
                    question=item.question,
                    noise=None,
                    noise_real=None,
                    k=0,
                    correct=0.0,
                    arm="related",
                    profile=settings.way,
                    seed=settings.seed,
                    feasible=True,
                    documents=(),
                    slots=(),
                    messages=settings.instructions.messages(item.lang, item.question, self.documents),
                    answer=item.answer,
                    fake=item.fake,
                    expect="answer",
                    event=item.event,
                )


CLOSED_BOOK = ClosedBook("closed-book", None)
NO_DOCUMENTS = ClosedBook("no-documents", ())
