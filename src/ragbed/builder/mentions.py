"""Where a passage says the answer: found by typed matching, and by plain containment where that sees nothing.

Typed matching reads "$44bn" as 44 billion and 27/10/2017 as 27 October 2017; plain containment is what RGB's documents
were split by. A text in which neither finds anything does not hold the answer, as far as rules can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from ragbed.schema import Lang, Question
from ragbed.scoring.robust.assertion import judge_mention
from ragbed.scoring.robust.gold import Gold, GoldSlot, prepare
from ragbed.scoring.robust.match import FoldedResponse, Mention, find_mentions
from ragbed.scoring.robust.normalise import fold, origins
from ragbed.text import bounded, plain

_DATELINE = re.compile(
    r"\s*(?:[A-Z][a-z]{2,8}\.? \d{1,2}, [12]\d{3}|[12]\d{3}(?:年\d{1,2}月\d{1,2}日|-\d{1,2}-\d{1,2}))"
    r"(?:\s*(?:\.\.\.|…|·)|\s+[—-]\s)"
)
"""A search engine puts the day of a page before its snippet: it tells nothing about the event."""


_TELLING = 3
"""Significant digits of a number that is seldom met by chance: 57,710 has four, 2,000 one."""


class AnswerMention(NamedTuple):
    """A stretch of a passage that says a part of the answer."""

    start: int
    end: int
    rule: str
    """How it was found: name, number, number.unit, date, date.asked, plain; or why it does not count."""


WEAK = {
    "surname": "only the family name stands there",
    "inside": "it stands only inside a longer number or word",
    "vague": "only a part of the date stands there",
    "figure": "only its number stands there",
    "dateline": "it is the day of the page, not of the event",
    "denied": "it is denied there",
}
"""Rules under which a passage holds the answer, so that it is no clean distractor, but cannot be said to give it."""


def find_answer(question: Question, text: str) -> list[list[AnswerMention]]:
    """For each part of the answer, where a passage says it, in characters of the passage."""
    gold = prepare(question.question, question.answer, None, question.lang)
    reading = _read(text, question.lang)
    found = []
    for slot, aliases in zip(gold.slots, question.answer, strict=True):
        held = list(_typed(slot, gold, reading, text, question)) if slot.forms else []
        others = (_vague(slot, reading, text, question), _figures(aliases, reading, text, question))
        for one in chain(_contained(aliases, text), *others):
            if not any(one.start < other.end and other.start < one.end for other in held):
                held.append(one)
        found.append(sorted(held))
    return found


@lru_cache(maxsize=16)  # the parts of a question, the true and the false answer are looked for in turn
def _read(text: str, lang: Lang) -> FoldedResponse:
    return FoldedResponse(fold(text, lang), (text,))


def _typed(
    slot: GoldSlot, gold: Gold, reading: FoldedResponse, text: str, question: Question
) -> Iterator[AnswerMention]:
    mentions = find_mentions(slot, gold, reading)
    places = origins(text, question.lang) if mentions else []
    dateline = _DATELINE.match(text)
    for mention in mentions:
        start, end = places[mention.start], places[max(mention.start, mention.end - 1)] + 1
        yield AnswerMention(
            start, end, _rule(mention, mentions, reading.text, bool(dateline and end <= dateline.end()))
        )


def _vague(slot: GoldSlot, reading: FoldedResponse, text: str, question: Question) -> Iterator[AnswerMention]:
    """The day and month of a date whose year is asked for too: from "12 November" a reader can guess the rest."""
    days = {date[1:3] for date in slot.dates if date.day is not None}
    places = origins(text, question.lang) if days else []
    for date in reading.dates if days else ():
        if date.year is None and date[1:3] in days:
            yield AnswerMention(places[date.start], places[date.end - 1] + 1, "vague")


def _figures(
    aliases: tuple[str, ...], reading: FoldedResponse, text: str, question: Question
) -> Iterator[AnswerMention]:
    """The number of the answer beside another unit, or one that the matcher does not know: too telling to pass over."""
    wanted = {value for alias in aliases for value in _values(alias, question.lang)}
    found = [one for one in reading.quantities if one.value in wanted] if wanted else []
    places = origins(text, question.lang) if found else []
    for one in found:
        yield AnswerMention(places[one.start], places[one.end - 1] + 1, "figure")


@lru_cache(maxsize=4096)
def _values(alias: str, lang: Lang) -> frozenset[Decimal]:
    """The number that an alias begins with, if it has enough digits not to be met by chance."""
    quantities = FoldedResponse(fold(alias, lang)).quantities
    return frozenset(
        one.value for one in quantities if one.start == 0 and len(one.value.normalize().as_tuple().digits) >= _TELLING
    )


def _rule(mention: Mention, same: list[Mention], text: str, is_dateline: bool) -> str:
    if mention.rule == "name.surname":
        return "surname"
    if mention.rule.startswith("date") and is_dateline:
        return "dateline"
    return "denied" if judge_mention(text, mention, same, ()) in {"denied", "wrong"} else mention.rule


def _contained(aliases: tuple[str, ...], text: str) -> Iterator[AnswerMention]:
    lowered = plain(text)
    if len(lowered) != len(text):  # İ becomes two characters: the places would be wrong
        lowered = "".join(one if len(one.lower()) > 1 else one.lower() for one in text)
    for alias in aliases:
        for found in re.finditer(re.escape(alias.lower()), lowered):
            alone = bounded(alias).match(lowered, found.start()) is not None
            yield AnswerMention(found.start(), found.end(), "plain" if alone else "inside")
