"""Words of guesses, rumours and first counts: what they tell of changes, and is no fact that a question can ask for."""

from __future__ import annotations

import re

from ragbed.schema import Lang

_GUESS: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(r"\b(?:may|might|could|likel(?:y|iest)|expected|forecast|predicted|rumou?red)\b"),
    "zh": re.compile("(?<![不尽])可能(?!性)|预计|预测(?![部研中所])|或将|有望|据传|传闻"),
}
"""In questions. Small letters: the month of May and other names are none."""
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
"""In what is told. More careful: a sentence says many things, and only some of them of the answer."""
_CLAUSE = re.compile(r"[,;，；]")


def asks_for_a_guess(question: str, lang: Lang) -> bool:
    """Whether a question is about what somebody expects or has only heard."""
    return _GUESS[lang].search(question) is not None


def is_hedged(sentence: str, place: int, lang: Lang) -> bool:
    """Whether what stands at a place of a sentence is told as a guess: before it, or in the same clause."""
    after = _CLAUSE.search(sentence, place)
    return _HEDGE[lang].search(sentence[: after.start() if after else len(sentence)]) is not None
