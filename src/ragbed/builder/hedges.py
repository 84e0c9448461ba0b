"""Detect guesses, rumours and preliminary counts, which change later and are not facts to ask for."""

from __future__ import annotations

import re

from ragbed.schema import Lang

# In questions. Lower case only, because May and other names are not hedges.
_GUESS: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(r"\b(?:may|might|could|likel(?:y|iest)|expected|forecast|predicted|rumou?red)\b"),
    "zh": re.compile("(?<![不尽])可能(?!性)|预计|预测(?![部研中所])|或将|有望|据传|传闻"),
}
# In passages. Stricter, because a sentence makes several statements and only some concern the answer.
_HEDGE: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?:may|might|expects?|(?:is|was|are|were) (?:expected|forecast|predicted|likely) to|rumou?r(?:s|ed)?"
        r"|unconfirmed|(?:provisional|preliminary) (?:figures?|results?|counts?|tally|estimates?)"
        r"|(?:first|early) (?:estimates?|tally|tallies|drawings)|earlier plans?)\b"
    ),
    "zh": re.compile(
        "(?<![不尽])可能(?!性)|预计|预测(?![部研中所])|或将|有望|据传|传闻|估算|(?:首次|初步)统计|尚未复核"
    ),
}
_CLAUSE = re.compile(r"[,;，；]")


def asks_for_a_guess(question: str, lang: Lang) -> bool:
    """Check whether a question is about an expectation or a rumour."""
    return _GUESS[lang].search(question) is not None


def is_hedged(sentence: str, place: int, lang: Lang) -> bool:
    """Check for a hedge before a place of a sentence or in the same clause."""
    after = _CLAUSE.search(sentence, place)
    return _HEDGE[lang].search(sentence[: after.start() if after else len(sentence)]) is not None
