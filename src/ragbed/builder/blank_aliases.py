"""Check whether an alternative form of an answer, found in a text, can fill the blank in a quoted sentence."""

from __future__ import annotations

import re

from ragbed.builder.rules.facts import BLANK
from ragbed.schema import Lang
from ragbed.scoring.robust.match import FoldedResponse
from ragbed.scoring.robust.normalise import fold

_QUOTED = re.compile(f"“([^“”]*){BLANK}([^“”]*)”")
_RATE = re.compile(
    r"\b(?:per(?! ?cent\b)|each|every)\b|每|[/／](?=\s?[^\W\d_])"
)  # matches a rate, e.g. a price per unit, which differs from a plain amount
_NUMERAL = re.compile(r"[\d.,\s零〇一二两三四五六七八九十百千万亿]+")


def fits_blank(question: str, answer: str, form: str, lang: Lang) -> bool:
    """Check that a form of the answer fits the blank in a question; always true if the question has no blank.

    A form may repeat words beside the blank: "14 days" for "within ____ days". "14.00" or "14 day" does not fit.

    Args:
        question: The question, which may quote a sentence with a blank.
        answer: The value that completes the sentence.
        form: Another form of the value, from a text.
        lang: Language of the question.
    """
    quoted = _QUOTED.search(question)
    if quoted is None or form == answer:
        return True
    if _RATE.search(form) and not _RATE.search(answer):
        return False
    head, found, tail = form.lower().partition(answer.lower())
    if found:
        before, after = quoted[1].lower(), quoted[2].lower()
        is_end = re.search(rf"(?:^|\W){re.escape(head)}$", before) if head else True
        is_start = re.match(rf"{re.escape(tail)}(?![\w/-])", after) if tail else True
        return bool(is_end and is_start)
    return _same_value(answer, form, lang)


def _same_value(answer: str, form: str, lang: Lang) -> bool:
    """Check that two texts denote the same date, or the same number with the same unit."""
    texts = [fold(text, lang) for text in (answer, form)]
    one, other = map(FoldedResponse, texts)
    if one.dates or other.dates or (one.years and other.years):
        return _days(one) == _days(other)
    units = [_NUMERAL.sub("", text) for text in texts]
    if any(units) and units[0] == units[1]:
        return True
    whole = [
        {(quantity.value, quantity.unit) for quantity in read.quantities if quantity.end - quantity.start == len(text)}
        for read, text in zip((one, other), texts, strict=True)
    ]
    has_quantity = bool(one.quantities or other.quantities)
    return bool(whole[0] & whole[1]) if has_quantity else True


def _days(read: FoldedResponse) -> set[tuple[int | None, int | None, int | None]]:
    return {(date.year, date.month, date.day) for date in (*read.dates, *read.years)}
