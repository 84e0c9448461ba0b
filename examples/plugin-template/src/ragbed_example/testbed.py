"""`--testbeds single`: every question with one supporting document, the easiest setting."""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.data import Dataset
from ragbed.schema import Case, Document, Item
from ragbed.testbeds.cases import make_case, selected_items
from ragbed.testbeds.settings import Settings


class Single:
    """Implements the protocol `ragbed.testbeds.Testbed`."""

    name = "single"

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yield one case per item, in the selected languages and up to the limit."""
        for item in selected_items(dataset, settings):
            yield self._case(dataset.name, item, settings)

    def _case(self, data: str, item: Item, settings: Settings) -> Case:
        first = next((number for number, each in enumerate(item.passages) if each.stance == "supports"), None)
        documents: tuple[Document, ...] = ()
        if first is not None:
            passage = item.passages[first]
            documents = (Document(text=passage.text, stance="supports", kind=passage.kind, source=first),)
        texts = [document.text for document in documents]
        return make_case(
            data,
            item,
            settings,
            self.name,
            "",
            settings.instructions.messages(item.lang, item.question, texts) if documents else (),
            noise=0.0,
            noise_real=0.0 if documents else None,
            k=1,
            feasible=bool(documents),
            documents=documents,
            slots=(0,) if documents else (),
            reason=None if documents else "has no supporting document",
        )


SINGLE = Single()  # the entry point names this object
