"""Own retrieval: a system gets the question and the id of a corpus, and finds documents by itself.

`own-retrieval` searches all passages of the dataset; `own-rejection` a corpus from which those that bear an answer are
withheld, so that it ought to decline. Only a system can be asked (`python/…`, `http/…`): a model has nothing to search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ragbed.data import Dataset, kind_of
from ragbed.data.corpus import Corpus, Edition
from ragbed.schema import Case, Expectation, Message, ScoreName
from ragbed.testbeds.no_documents import bare_case, items_of
from ragbed.testbeds.settings import Settings


@dataclass(frozen=True)
class EndToEnd:
    """A testbed without documents, but with a corpus."""

    name: str
    edition: Edition
    expect: Expectation
    headline: ScoreName
    secondary: tuple[ScoreName, ...] = ()

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yields every item once; where the answer is withheld base items only, as `rejection` does."""
        corpus = Corpus(dataset, self.edition).id
        for item in items_of(dataset, settings):
            if self.expect == "answer" or kind_of(item) == "base":
                asked = (Message(role="user", content=item.question),)
                yield bare_case(
                    dataset, item, settings, self.name, asked, expect=self.expect, k=settings.docs, corpus=corpus
                )


def open_corpora(datasets: Iterable[Dataset], testbeds: Iterable[object]) -> dict[str, Corpus]:
    """What the testbeds among these have systems search, by id."""
    editions = [testbed.edition for testbed in testbeds if isinstance(testbed, EndToEnd)]
    corpora = (Corpus(dataset, edition) for dataset in datasets for edition in editions)
    return {corpus.id: corpus for corpus in corpora}


OWN_RETRIEVAL = EndToEnd("own-retrieval", "corpus", "answer", "correct")
OWN_REJECTION = EndToEnd("own-rejection", "withheld-corpus", "refuse", "refused")
