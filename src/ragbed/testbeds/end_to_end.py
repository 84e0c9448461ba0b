"""End-to-end RAG testbeds, in which a system gets a question and a corpus ID, and retrieves documents itself.

The corpus for `own-retrieval` contains all of the dataset's passages. The corpus for `own-rejection` lacks the passages
that contain an answer, so the system should decline. Only RAG systems can be evaluated (`python/…`, `http/…`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct, structs

from ragbed.data import Dataset, kind_of
from ragbed.data.corpus import Corpus, Edition, passage_id
from ragbed.schema import Case, Expectation, Kind, Message, ScoreName
from ragbed.testbeds.closed_book import case_without_documents, selected_items
from ragbed.testbeds.settings import DEFAULT_DOCS, Settings


class EndToEnd(Struct, frozen=True):
    """A testbed that gives the system a corpus instead of documents."""

    name: str
    edition: Edition
    expect: Expectation
    headline: ScoreName
    secondary: tuple[ScoreName, ...] = ()
    takes: Kind | None = None  # the kind of items that it uses; None for all

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yield one case per item of the kind that the testbed uses."""
        corpus, (docs, *_) = Corpus(dataset, self.edition), settings.num_docs or (DEFAULT_DOCS,)
        for item in selected_items(dataset, settings):
            if self.takes in (None, kind_of(item)):
                corpus.require_passages()
                messages = (Message(role="user", content=item.question),)
                case = case_without_documents(
                    dataset, item, settings, self.name, messages, expect=self.expect, k=docs, corpus=corpus.id
                )
                supporting = {passage_id(one.text) for one in item.passages if one.stance == "supports"}
                yield structs.replace(case, relevant=len(supporting) if self.expect == "answer" else 0)


def open_corpora(datasets: Iterable[Dataset], testbeds: Iterable[object]) -> dict[tuple[str, str], Corpus]:
    """Return the corpora that systems search in the given testbeds, keyed by dataset name and corpus ID."""
    editions = [testbed.edition for testbed in testbeds if isinstance(testbed, EndToEnd)]
    corpora = ((dataset, Corpus(dataset, edition)) for dataset in datasets for edition in editions)
    return {(dataset.name, corpus.id): corpus for dataset, corpus in corpora}


# The testbeds in which a system retrieves the documents itself.
WITHOUT_DOCUMENTS = ("own-retrieval", "own-rejection", "search")
OWN_RETRIEVAL = EndToEnd("own-retrieval", "corpus", "answer", headline="correct")
OWN_REJECTION = EndToEnd("own-rejection", "withheld-corpus", "refuse", headline="refused", takes="base")
