"""Frozen data types for the records that are passed between the steps of a build."""

from __future__ import annotations

from typing import Literal

from ragbed.schema import Answer, Article, Item, Lang, Passage, Question, Record


class Draft(Question, frozen=True, kw_only=True):
    """A question that passed the rules but has not been verified yet."""

    id: str  # hash of the language and the question
    origin: Literal["article", "known"]  # from an article, or from the generator's own knowledge (counterfactual items)
    context: str = ""  # title and headings of the section
    section: tuple[int, int] = (0, 0)  # character offsets of the section in the article's text
    sentence: str = ""  # the sentence of the section that states the answer
    date: str | None = None  # ISO date of the article


class ReviewedQuestion(Record, frozen=True, kw_only=True):
    """A question that a model understands without its text and answers correctly from it; `question` is its ID."""

    question: str


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
    """A question with enough passages, of which only the supporting ones answer it."""

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


class CheckedRecord(Record, frozen=True, kw_only=True):
    """An item that passed every check."""

    kind: str  # item kind: base, int or fact
    item: Item
