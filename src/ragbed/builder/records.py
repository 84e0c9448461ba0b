"""Frozen data types for the records that are passed between the steps of a build."""

from __future__ import annotations

from typing import Literal

from ragbed.schema import Answer, Article, Item, Lang, Passage, Question, Record


class Draft(Question, frozen=True, kw_only=True):
    """A question that passed the rules but has not been verified yet."""

    id: str  # hash of the language and the question
    origin: Literal["article", "known"]  # from an article, or from the generator's own knowledge (counterfactual items)
    kind: str  # answer type: name, quantity or date
    event: str = ""  # the generator's description of the event
    date: str | None = None  # ISO date of the event
    by_rules: bool = False  # whether the rules wrote the question because the generator's was missing or unusable


class Probe(Record, frozen=True, kw_only=True):
    """The result of asking reference models a question without documents; `question` is the ID of the draft."""

    question: str
    known_by: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether most of the models know the answer."""
        return 2 * len(self.known_by) > len(self.asked)


class FetchedPage(Record, frozen=True, kw_only=True):
    """A page found by a search. `hit` is the URL from the search results, before redirects."""

    hit: str
    article: Article


class Candidate(Record, frozen=True, kw_only=True):
    """A passage or snippet for a question."""

    text: str
    url: str
    title: str
    page: str | None = None
    date: str | None = None
    licence: str | None = None
    score: float | None = None  # similarity computed by the encoder; None for snippets
    is_snippet: bool = False


class Ranked(Record, frozen=True, kw_only=True):
    """A question's passages, nearest first, followed by its search snippets."""

    question: str
    candidates: tuple[Candidate, ...]


class LabelledPool(Record, frozen=True, kw_only=True):
    """A question's passages with their relevance labels."""

    question: str
    passages: tuple[Passage, ...]


class Verified(Record, frozen=True, kw_only=True):
    """A question whose answer a reader model found in the supporting passages."""

    question: str
    supports: int
    distracts: int
    sources: int


class Combination(Record, frozen=True, kw_only=True):
    """A question that combines two drafts. `parts` contains their IDs."""

    id: str
    question: str
    lang: Lang
    parts: tuple[str, ...]


class Edited(Record, frozen=True, kw_only=True):
    """A supporting passage edited to state the false answer. `of` is the index of the original passage in its pool."""

    of: int
    text: str
    spans: tuple[tuple[int, int], ...]  # start and end offsets of each occurrence of the false answer


class Falsehood(Record, frozen=True, kw_only=True):
    """A false answer and the passages that state it."""

    question: str
    fake: Answer
    edits: tuple[Edited, ...]


class ScoredItem(Record, frozen=True, kw_only=True):
    """An item that passed every check. Its score is the mean of its signals, each from 0 to 1."""

    kind: str  # item kind: base, int, fact or fluent
    item: Item
    signals: dict[str, float]
    score: float
