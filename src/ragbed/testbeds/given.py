"""Documents as given: every item has its own documents, which are shown unchanged and in their order.

The item says what a response should do. The distractor condition of a case (`arm`) is this expectation, so that tables
and comparisons never mix items that should be answered with items that should be refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ragbed.data import Dataset
from ragbed.schema import Case, Document, Kind, ScoreName
from ragbed.testbeds.cases import make_case, selected_items
from ragbed.testbeds.settings import Settings


class Given(Struct, frozen=True):
    """The `given` testbed."""

    name: str = "given"
    takes: Kind = "given"
    headline: ScoreName = "expected"
    secondary: tuple[ScoreName, ...] = ()

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yield one case for every item with given documents."""
        for item in selected_items(dataset, settings, given=True):
            documents = tuple(
                Document(text=one.text, stance=one.stance, kind="related", source=number)
                for number, one in enumerate(item.documents)
            )
            yield make_case(
                dataset.name,
                item,
                settings,
                self.name,
                "",
                settings.instructions.messages(item.lang, item.question, [document.text for document in documents]),
                arm=item.expect,
                documents=documents,
                slots=tuple(number for number, one in enumerate(documents) if one.stance == "supports"),
                expect=item.expect,
            )


GIVEN = Given()
