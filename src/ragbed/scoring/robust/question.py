"""Determine what a question asks for."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ragbed.schema import Lang
from ragbed.scoring.robust.gold import asked_unit
from ragbed.scoring.robust.name_patterns import ASKS_WHO
from ragbed.scoring.robust.normalise import fold_question
from ragbed.scoring.robust.patterns import lazy

_WHERE = lazy(
    r"\bwhere\b|\b(?:which|what) (?:city|town|country|place|village|venue)\b",
    "哪里|哪座|何处|何地|地点|哪个国家|哪个城市|首都",
)


class Asked(NamedTuple):
    """The kind of answer that a question asks for.

    Attributes:
        question: The question.
        text: The folded question.
        asks_who: Whether it asks for a person.
        asks_where: Whether it asks for a place.
        unit: The unit of the counted noun, or nothing.
    """

    question: str
    text: str
    asks_who: bool
    asks_where: bool
    unit: str


@lru_cache(maxsize=16_384)
def read_question(question: str, lang: Lang) -> Asked:
    """Return the kind of answer that a question asks for."""
    text = fold_question(question, lang)
    return Asked(
        question=question,
        text=text,
        asks_who=ASKS_WHO.search(text) is not None,
        asks_where=_WHERE.search(text) is not None,
        unit=asked_unit(text),
    )
