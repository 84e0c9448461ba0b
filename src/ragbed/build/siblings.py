"""Which article may answer a question like another one: "Who won the cup of 2022?" beside that of 2023 (R21)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import log

from ragbed.build.records import Draft
from ragbed.schema import Article
from ragbed.text import to_terms

LOOKED_AT = 5_000
"""Articles that are worth looking at: a few seconds of work, and enough to have another year's of most events."""
_BEGINNING = 2_000
"""Characters of an article that tell what it is about."""


class Neighbours:
    """Finds, for a question, the other article that shares its rarest words.

    Args:
        articles: Of one language.
    """

    def __init__(self, articles: Sequence[Article]) -> None:
        self._articles = articles
        self._by_term: dict[str, list[int]] = {}
        for place, article in enumerate(self._articles):
            for term in set(to_terms(f"{article.title}\n{article.text[:_BEGINNING]}")):
                self._by_term.setdefault(term, []).append(place)

    def nearest(self, draft: Draft) -> Article | None:
        """The nearest article but the question's own, and those that give its answer; None if none shares a word."""
        scores: defaultdict[int, float] = defaultdict(float)
        for term in set(to_terms(draft.question)):
            places = self._by_term.get(term, ())
            for place in places:
                scores[place] += log(1 + len(self._articles) / len(places))
        for place, _ in sorted(scores.items(), key=lambda found: (-found[1], found[0])):
            article = self._articles[place]
            if article.id != draft.article and not _gives(article, draft):
                return article
        return None


def _gives(article: Article, draft: Draft) -> bool:
    """Whether an article tells the same news again."""
    text = article.text.lower()
    return any(alias.lower() in text for alias in draft.answer[0])
