"""Closed-book testbeds, which ask the question without documents.

`no-documents` uses the prompt for documents, which says how to decline, but with an empty document list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ragbed.data import Dataset
from ragbed.schema import Case, ScoreName
from ragbed.testbeds.cases import make_case, selected_items
from ragbed.testbeds.settings import Settings


class ClosedBook(Struct, frozen=True):
    """A testbed without documents, for all kinds of items; the closed-book prompt is used if `documents` is None."""

    name: str
    documents: Sequence[str] | None
    headline: ScoreName
    secondary: tuple[ScoreName, ...] = ()

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yield one case for every item."""
        for item in selected_items(dataset, settings):
            messages = settings.instructions.messages(item.lang, item.question, self.documents)
            yield make_case(dataset.name, item, settings, self.name, "", messages)


CLOSED_BOOK = ClosedBook("closed-book", None, headline="correct")
NO_DOCUMENTS = ClosedBook("no-documents", (), headline="refused", secondary=("correct",))
