"""What lies between two steps of a build and is no noun of the whole program: frozen records, no logic."""

from __future__ import annotations

from typing import Literal

from ragbed.schema import Answer, Article, Lang, Passage, Question, Record


class Draft(Question, frozen=True, kw_only=True):
    """A question that passed the rules; whether documents bear it out is not known yet."""

    id: str
    """Follows from language and question."""
    origin: Literal["article", "known"]
    """Made from an article, or from the generator's own knowledge (for counterfactual items)."""
    kind: str
    """Of its answer: name, quantity or date."""
    event: str = ""
    """In the generator's words."""
    date: str | None = None
    """ISO date of the event: the generator's, or else the article's; none if the article has none."""


class Probe(Record, frozen=True, kw_only=True):
    """What reference models say to a question without any document."""

    question: str
    """Id of the draft."""
    known_by: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether most of the models that were asked know the answer."""
        return 2 * len(self.known_by) > len(self.asked)


class FetchedPage(Record, frozen=True, kw_only=True):
    """A page that a search named, read."""

    hit: str
    """The address that the search gave; redirects may have led elsewhere."""
    article: Article


class Candidate(Record, frozen=True, kw_only=True):
    """A passage or snippet that may be handed to a model for a question."""

    text: str
    url: str
    title: str
    page: str | None = None
    date: str | None = None
    licence: str | None = None
    score: float | None = None
    """The encoder's; a snippet has none."""
    is_snippet: bool = False


class Ranked(Record, frozen=True, kw_only=True):
    """A question's passages, the nearest first, followed by its snippets."""

    question: str
    candidates: tuple[Candidate, ...]


class LabelledPool(Record, frozen=True, kw_only=True):
    """A question's passages with their stances."""

    question: str
    passages: tuple[Passage, ...]


class Verified(Record, frozen=True, kw_only=True):
    """A question whose answer was found again, by a reader who saw the supporting passages only."""

    question: str
    supports: int
    distracts: int
    sources: int


class Combination(Record, frozen=True, kw_only=True):
    """Two questions that are combined into one."""

    id: str
    question: str
    lang: Lang
    parts: tuple[str, ...]
    """Ids of the drafts."""


class Edited(Record, frozen=True, kw_only=True):
    """A supporting passage with another answer in it."""

    of: int
    """Index among the pool's passages."""
    text: str
    spans: tuple[tuple[int, int], ...]
    """Where the false answer was put."""


class Falsehood(Record, frozen=True, kw_only=True):
    """A false answer and the passages that give it."""

    question: str
    fake: Answer
    edits: tuple[Edited, ...]
