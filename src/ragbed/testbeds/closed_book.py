"""Closed-book testbeds, which ask the question without documents.

`no-documents` uses the prompt for documents, which says how to decline, but with an empty document list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from ragbed.data import Dataset
from ragbed.data.rgb import spelled_answer
from ragbed.schema import Case, Expectation, Item, Message, ScoreName
from ragbed.testbeds.names import name_case
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
            yield case_without_documents(dataset, item, settings, self.name, messages)


def selected_items(dataset: Dataset, settings: Settings) -> Iterator[Item]:
    """Yield the items that are within the limit and in one of the languages given by the settings."""
    items = islice(dataset.items(), dataset.resolve_limit(settings.limit))
    return (item for item in items if item.lang in settings.langs)


def case_without_documents(  # noqa: PLR0913 - the differences between these testbeds
    dataset: Dataset, item: Item, settings: Settings, testbed: str, messages: tuple[Message, ...],
    *, expect: Expectation = "answer", k: int = 0, corpus: str | None = None,
) -> Case:  # fmt: skip
    """Return the case for an item in a testbed without documents.

    Args:
        dataset: The item's dataset.
        item: The item.
        settings: The settings for generating cases.
        testbed: The testbed's name.
        messages: The messages to send.
        expect: The expected behaviour.
        k: The number of documents that a RAG system should retrieve.
        corpus: ID of the corpus that the system searches.
    """
    label = f"k={k},{settings.label}" if k else settings.label
    parts = {passage.part for passage in item.passages if passage.part is not None}
    return Case(
        case=name_case(dataset.name, item.id, testbed, label),
        data=dataset.name,
        item=item.id,
        lang=item.lang,
        testbed=testbed,
        question=item.question,
        noise=None,
        noise_real=None,
        k=k,
        true_ratio=0.0,
        arm="related",
        profile=settings.full_profile,
        seed=settings.seed,
        feasible=True,
        documents=(),
        slots=(),
        messages=messages,
        answer=item.answer,
        fake=item.fake,
        expect=expect,
        event=item.event,
        dial=item.dial,
        twin=item.twin,
        rgb_answer=spelled_answer(item),
        corpus=corpus,
        # RGB lists the passages by sub-question; the answer to a sub-question may consist of several parts.
        parts=len(parts) if corpus is not None and 0 < len(parts) < len(item.answer) else None,
    )


CLOSED_BOOK = ClosedBook("closed-book", None, headline="correct")
NO_DOCUMENTS = ClosedBook("no-documents", (), headline="refused", secondary=("correct",))
