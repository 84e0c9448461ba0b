"""Find the answer in a passage by typed matching, or by substring search if typed matching finds nothing.

Typed matching reads "$44bn" as 44 billion and 27/10/2017 as 27 October 2017. RGB's documents were labelled by
substring search. If neither finds anything, the text does not contain the answer as far as rules can tell.
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
from ragbed.text import plain, term_pattern

# Search engines put a page's date before its snippet. That date says nothing about the event.
_DATELINE = re.compile(
    r"\s*(?:[A-Z][a-z]{2,8}\.? \d{1,2}, [12]\d{3}|[12]\d{3}(?:年\d{1,2}月\d{1,2}日|-\d{1,2}-\d{1,2}))"
    r"(?:\s*(?:\.\.\.|…|·)|\s+[—-]\s)"
)
# Numbers with at least this many significant digits rarely match by chance: 57,710 has four, and 2,000 has one.
_MIN_DIGITS = 3


_SHARE = re.compile(r"%|％|\bper ?cent|百分|分之|[半成]|half|halves|quarter|third|fifth|tenth", re.IGNORECASE)


class AnswerMention(NamedTuple):
    """A span in a passage that contains a part of the answer.

    The rule states how the span was found (e.g. name, number.unit, date.asked or plain), or why it does not
    count.
    """

    start: int
    end: int
    rule: str


# Rules for passages that contain the answer without stating it. Such passages cannot serve as distractors either.
WEAK = {
    "surname": "only the family name appears",
    "inside": "it appears only inside a longer number or word",
    "vague": "only part of the date appears",
    "figure": "only the number appears",
    "dateline": "it is the date of the page, not of the event",
    "denied": "the passage denies it",
}


def find_answer(question: Question, text: str) -> list[list[AnswerMention]]:
    """Return the mentions of each part of the answer in a passage."""
    gold = prepare(question.question, question.answer, None, question.lang)
    reading = _read(text, question.lang)
    found = []
    for slot, aliases in zip(gold.slots, question.answer, strict=True):
        mentions = list(_typed(slot, gold, reading, text, question)) if slot.forms else []
        others = (_vague(slot, reading, text, question), _figures(aliases, reading, text, question))
        for new in chain(_contained(aliases, text, question.lang), *others):
            if not any(new.start < mention.end and mention.start < new.end for mention in mentions):
                mentions.append(new)
        found.append(sorted(mentions))
    return found


@lru_cache(maxsize=16)  # the same text is searched for every part of the true and false answers
def _read(text: str, lang: Lang) -> FoldedResponse:
    return FoldedResponse(fold(text, lang), (text,))


def _typed(
    slot: GoldSlot, gold: Gold, reading: FoldedResponse, text: str, question: Question
) -> Iterator[AnswerMention]:
    mentions = find_mentions(slot, gold, reading)
    places = origins(text, question.lang) if mentions else []
    dateline = _DATELINE.match(text)
    is_share = any(map(_SHARE.search, question.answer[0]))
    for mention in mentions:
        start, end = places[mention.start], places[max(mention.start, mention.end - 1)] + 1
        rule = _rule(mention, mentions, reading, bool(dateline and end <= dateline.end()))
        if is_share and mention.rule == "number.unit" and not _SHARE.search(text[start : end + 10]):
            rule = "figure"  # the answer 60% also matches "three" alone, because 60% can be written as "three fifths"
        yield AnswerMention(start, end, rule)


def _vague(slot: GoldSlot, reading: FoldedResponse, text: str, question: Question) -> Iterator[AnswerMention]:
    """Yield mentions of the answer's day and month without a year, because a reader could guess the year."""
    days = {date[1:3] for date in slot.dates if date.day is not None}
    places = origins(text, question.lang) if days else []
    for date in reading.dates if days else ():
        if date.year is None and date[1:3] in days:
            yield AnswerMention(places[date.start], places[date.end - 1] + 1, "vague")


def _figures(
    aliases: tuple[str, ...], reading: FoldedResponse, text: str, question: Question
) -> Iterator[AnswerMention]:
    """Yield mentions of the answer's number with a different or unknown unit, because they reveal the answer."""
    wanted = {value for alias in aliases for value in _values(alias, question.lang)}
    found = [quantity for quantity in reading.quantities if quantity.value in wanted] if wanted else []
    places = origins(text, question.lang) if found else []
    for quantity in found:
        yield AnswerMention(places[quantity.start], places[quantity.end - 1] + 1, "figure")


@lru_cache(maxsize=4096)
def _values(alias: str, lang: Lang) -> frozenset[Decimal]:
    """Return the possible values of the number at the start of an alias, except values with too few digits."""
    first = (quantity.value for quantity in FoldedResponse(fold(alias, lang)).quantities if quantity.start == 0)
    return frozenset(value for value in first if len(value.normalize().as_tuple().digits) >= _MIN_DIGITS)


def _rule(mention: Mention, same: list[Mention], reading: FoldedResponse, is_dateline: bool) -> str:
    if mention.rule == "name.surname":
        return "surname"
    if mention.rule.startswith("date") and is_dateline:
        return "dateline"
    status = judge_mention(reading.text, reading.terms, mention, same, ())
    return "denied" if status in {"denied", "wrong"} else mention.rule


def _contained(aliases: tuple[str, ...], text: str, lang: Lang) -> Iterator[AnswerMention]:
    lowered = plain(text)
    if len(lowered) != len(text):  # lower-casing İ produces two characters, which would shift the offsets
        lowered = "".join(letter if len(letter.lower()) > 1 else letter.lower() for letter in text)
    for alias in aliases:
        for found in re.finditer(re.escape(alias.lower()), lowered):
            alone = term_pattern(alias, lang).match(lowered, found.start()) is not None
            yield AnswerMention(found.start(), found.end(), "plain" if alone else "inside")
