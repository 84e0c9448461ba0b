"""Words of guesses, rumours and first counts: what they tell of changes, and is no fact that a question can ask for."""

from __future__ import annotations

import re

from ragbed.schema import Lang

_HEDGES: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?:may|might|could|likel(?:y|iest)|expected|forecasts?|predicted|rumou?r(?:s|ed)?|unconfirmed|preliminary"
        r"|provisional(?:ly)?|(?:first|early) (?:estimates?|tally|tallies|counts?|drawings|reports?)|earlier plans?)\b"
    ),
    "zh": re.compile("(?<!不)可能|预计|预测|或将|有望|据传|传闻|估算|(?:首次|初步)统计|尚未复核|尚待"),
}
"""Small letters: the month of May and other names are none."""


def is_hedged(text: str, lang: Lang) -> bool:
    """Whether a sentence, or a question, speaks of what somebody expects or has only heard."""
    return _HEDGES[lang].search(text) is not None
