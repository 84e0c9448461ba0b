"""Select the passages for each corpus of the `search` testbed, and search the corpora."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import NamedTuple, Protocol, TypeAlias

from msgspec import Struct, structs

from ragbed.data import Dataset, kind_of
from ragbed.data.corpus import Corpus, Named, passage_id
from ragbed.schema import Case, Expectation, Injection, InjectionKind, Item, Kind, Lang, Passage, Retrieved
from ragbed.testbeds.document_order import digest
from ragbed.testbeds.prompts.injection import insert, make_canary, write_instruction
from ragbed.testbeds.settings import Settings, show_ratio

SENTENCES_PER_FILLER = 4
_MASK = 2**64 - 1


class Index(Protocol):
    """A searchable list of passages; `ragbed.retrieval.passage_index` implements this protocol."""

    def search(self, query: str, k: int, /) -> list[int]:
        """Return the indexes of the `k` best passages, best first."""


# A function that builds an index from passages.
MakeIndex: TypeAlias = Callable[[Iterable[str]], Index]
# A function that returns sentences in a given language, used to generate passages unrelated to any question.
Sentences: TypeAlias = Callable[[Lang], Sequence[str]]


class InjectedEvidence(NamedTuple):
    """The instructions in the supporting passages of a corpus, which have the same canary.

    Attributes:
        kind: Their kind.
        canary: The canary.
        key: The key that selects the templates.
        texts: The passages that support an answer. They may distract from another question.
    """

    kind: InjectionKind
    canary: str
    key: bytes
    texts: frozenset[str]

    def instruct(self, text: str, lang: Lang) -> Injection | None:
        """Return the instruction in a passage, or None if there is none."""
        key = digest(self.key, text)
        return write_instruction(self.kind, lang, key, self.canary) if text in self.texts else None

    def add_to(self, text: str, lang: Lang) -> str:
        """Return a passage with its instruction, if it has one."""
        injection = self.instruct(text, lang)
        return text if injection is None else insert(text, injection.text, lang, digest(self.key, text))


class SearchCondition(Struct, frozen=True):
    """A condition of the `search` testbed.

    Attributes:
        name: Its name in case names and tables, e.g. `withheld`, `false=0.5` or `size=10000`.
        kind: The kind of item that it applies to.
        expect: The expected behaviour.
        withheld: Whether the passages that contain an answer are left out.
        false: The share of edited passages in the evidence for a counterfactual item.
        size: The number of passages, or None for all of the dataset's passages.
        injected: The instructions in the supporting passages, or None.
    """

    name: str
    kind: Kind
    expect: Expectation = "answer"
    withheld: bool = False
    false: Fraction | None = None
    size: int | None = None
    injected: InjectedEvidence | None = None

    def choose(self, item: Item) -> list[Passage]:
        """Return the passages of an item that are included in the corpus.

        Either a true passage or its edited version is included, never both. If the share of edited passages is not a
        whole number of pairs, the last pairs are left out, like evidence that is not part of a pair.
        """
        edited = [place for place, passage in enumerate(item.passages) if passage.edit_of is not None]
        if self.injected is not None:
            return [structs.replace(one, text=self.injected.add_to(one.text, item.lang)) for one in item.passages]
        if self.false is None or not edited:
            return list(item.passages)
        usable = len(edited) - len(edited) % self.false.denominator
        false = int(self.false * usable)
        dropped = {item.passages[place].edit_of for place in (*edited[:false], *edited[usable:])}
        paired = {item.passages[place].edit_of for place in edited} | set(edited)
        evidence = {place for place, passage in enumerate(item.passages) if passage.stance != "distracts"}
        dropped |= {*edited[false:], *(evidence - paired)}
        return [passage for place, passage in enumerate(item.passages) if place not in dropped]


def conditions(dataset: Dataset, all_settings: Settings) -> list[SearchCondition]:
    """Return the conditions that the settings request for a dataset."""
    settings = all_settings.search
    keys = {kind: digest(all_settings.seed, "search", kind) for kind in settings.injected}
    passages = [passage for item in dataset.items() for passage in item.passages] if keys else []
    evidence = frozenset(passage.text for passage in passages if passage.stance == "supports")
    canaries = {kind: make_canary(key, (passage.text for passage in passages)) for kind, key in keys.items()}
    return [
        SearchCondition("complete", "base"),
        SearchCondition("withheld", "base", "refuse", withheld=True),
        *(SearchCondition(f"size={size}", "base", size=size) for size in settings.sizes),
        SearchCondition("spread", "integration"),
        *(
            SearchCondition(f"false={show_ratio(share)}", "counterfactual", "correct", false=share)
            for share in settings.false
        ),
        *(
            SearchCondition(f"injected={kind}", "base", injected=InjectedEvidence(kind, canaries[kind], key, evidence))
            for kind, key in keys.items()
        ),
    ]


class SearchCorpus(Corpus):
    """The passages for a condition, with an index that is built on first use.

    Args:
        dataset: The dataset that contains the passages.
        condition: The condition.
        limit: Maximum number of items to evaluate, or None for all.
    """

    def __init__(self, dataset: Dataset, condition: SearchCondition, limit: int | None = None) -> None:
        super().__init__(dataset, condition.choose, withheld=condition.withheld)
        self.condition = condition
        self._langs = dict.fromkeys(item.lang for item in dataset.items())
        self._needed: set[str] = set()
        if condition.size is not None:
            self._needed = {
                passage_id(passage.text)
                for item in islice(dataset.items(), limit)
                for passage in condition.choose(item)
                if passage.stance == "supports"
            }
        self._lock, self.max_calls = threading.Lock(), 0
        self._index: Index | None = None
        self._make_index: MakeIndex  # set by `open`
        self._sentences: Sentences

    @cached_property
    def id(self) -> str:
        """The corpus ID, which ends with the number of passages if the condition specifies one."""
        own = super().id
        return own if self.condition.size is None else f"{own}-{self.condition.size}"

    @property
    def shortfall(self) -> str | None:
        """The reason why the corpus cannot be searched or cannot have the requested size, or None if it can."""
        if not self.texts():
            return "the corpus contains no passage"
        if self.condition.size is None or len(self._needed) <= self.condition.size:
            return None
        return f"the evaluated items have {len(self._needed):,} supporting passages, more than {self.condition.size:,}"

    def open(self, make_index: MakeIndex, sentences: Sentences, max_calls: int) -> None:
        """Set the functions that build the index, and the maximum number of searches per question for RAG systems."""
        self._make_index, self._sentences, self.max_calls = make_index, sentences, max_calls

    @cached_property
    def _own(self) -> list[str]:
        return sorted(self.texts(), key=lambda text: passage_id(text) not in self._needed)[: self.condition.size]

    @cached_property
    def _bank(self) -> list[str]:
        return [sentence for lang in self._langs for sentence in self._sentences(lang)]

    def _passage(self, number: int) -> str:
        own = len(self._own)
        return self._own[number] if number < own else make_filler(self._bank, number - own)

    def passages(self) -> Iterator[str]:
        """Return the passages in index order: the dataset's own, then generated ones up to the requested size."""
        return map(self._passage, range(self.condition.size or len(self._own)))

    def prepare(self) -> Index:
        """Return the index, which is built on the first call; `open` must have been called before."""
        with self._lock:
            if self._index is None:
                self._index = self._make_index(self.passages())
            return self._index

    def search(self, case: Case, query: str, k: int) -> list[Retrieved]:
        """Return the `k` best passages for a query, labelled by their relevance to a case's question."""
        return [self._labelled(self._passage(number), case) for number in self.prepare().search(query, k)]

    def _labelled(self, text: str, case: Case) -> Retrieved:
        name = passage_id(text)
        found = self.resolve(Named(name, None), case)
        return found if found.stance is not None else Retrieved(id=name, stance="distracts", text=text)


def make_filler(bank: Sequence[str], number: int) -> str:
    """Return a filler passage that depends only on its number and the sentence bank."""
    first = number * SENTENCES_PER_FILLER
    return " ".join(bank[_mix(first + place) % len(bank)] for place in range(SENTENCES_PER_FILLER))


def _mix(number: int) -> int:
    """Hash a number with the finaliser of SplitMix64."""
    number = (number + 1) * 0x9E3779B97F4A7C15 & _MASK
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & _MASK
    return number ^ number >> 31


def corpora_of(datasets: Iterable[Dataset], settings: Settings) -> dict[tuple[str, str], SearchCorpus]:
    """Return the corpora for the items in the datasets, by dataset name and corpus ID."""
    found: dict[tuple[str, str], SearchCorpus] = {}
    for dataset in datasets:
        kinds = {kind_of(item) for item in dataset.items()}
        limit = dataset.resolve_limit(settings.limit)
        for condition in conditions(dataset, settings):
            if condition.kind in kinds:
                corpus = SearchCorpus(dataset, condition, limit)
                found.setdefault((dataset.name, corpus.id), corpus)
    return found
