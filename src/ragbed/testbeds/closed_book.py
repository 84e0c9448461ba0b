"""Closed book: the question alone, to see what a model knows without documents.

`no-documents` asks the same with the instruction that belongs to documents, and none of them: whether a model declines
may hang on being told how to (claim C9).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragbed.data import Dataset
from ragbed.schema import Case, ScoreName
from ragbed.testbeds.no_documents import bare_case, items_of
from ragbed.testbeds.settings import Settings


@dataclass(frozen=True)
class ClosedBook:
    """A testbed without documents; takes every item."""

    name: str
    documents: Sequence[str] | None
    """For the prompt."""
    headline: ScoreName = "correct"
    secondary: tuple[ScoreName, ...] = ()

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yields every item once."""
        for item in items_of(dataset, settings):
            messages = settings.instructions.messages(item.lang, item.question, self.documents)
            yield bare_case(dataset, item, settings, self.name, messages)


CLOSED_BOOK = ClosedBook("closed-book", None)
NO_DOCUMENTS = ClosedBook("no-documents", (), headline="refused", secondary=("correct",))
