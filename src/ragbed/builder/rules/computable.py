"""Check whether an answer can be computed from the numbers in its question, e.g. as their sum."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations, permutations

from ragbed.builder.rules.facts import BLANK
from ragbed.schema import Lang
from ragbed.scoring.robust.match import FoldedResponse
from ragbed.scoring.robust.normalise import fold

_YEARS = (1000, 2100)  # range of numbers that may be years
_MAX_NUMBERS = 8  # maximum number of numeric values to combine per question
_WHOLE = Decimal(100)
_QUOTED = re.compile(f"“([^“”]*{BLANK}[^“”]*)”")  # the sentence that a question quotes
_SHARE = re.compile(r"%|％|\bper ?cent\b")
# If the answer is a duration and the question contains two times or durations, their difference may be the answer.
_DURATION = re.compile(r"[\d.]+ ?(?:秒|分钟|小时|s\b|sec|min|h\b|hours?\b)")
_TIMES = re.compile(
    r"\d{1,2}[:：]\d{2}|\d+小时\d+分|\d+分(?:钟)?\d+秒|\d+[时点]\d+分"
    r"|\d+ ?(?:h|hours?) (?:and )?\d+ ?min|\d+ ?min\w* (?:and )?\d+ ?s"
)


def is_computable(question: str, answer: str, lang: Lang) -> bool:
    """Check whether an answer can be computed from a question's numbers.

    It may be their sum, difference, product or ratio, a change by a share, the difference of two times, or the year
    before or after a year in the question.
    """
    if not re.match(r"[£$€¥]?\d|[一二两三四五六七八九十百千]+[^\W\d]|[a-z]+(?:-[a-z]+)?$", answer):
        return False
    quoted = _QUOTED.search(question)
    text = quoted[1] if quoted else question
    if _DURATION.match(answer) and len(_TIMES.findall(text)) > 1:
        return True
    value = next(_numbers(answer, lang), None)
    others = list(_numbers(text, lang))[:_MAX_NUMBERS]
    if value is None or not others:
        return False
    is_year = _YEARS[0] <= value <= _YEARS[1] and re.match(r"\d{4}(?!\d|[.,]\d)", answer) is not None
    if is_year and any(abs(value - other) == 1 for other in others):
        return True
    shares = _shares(text, lang)
    if _SHARE.search(answer):
        return _is_ratio(value, others) or value in _sums(shares) or _WHOLE - value in {*shares, *_sums(shares)}
    is_part = any(
        _near(other * part / _WHOLE, value) or _near(value * part / _WHOLE, other)
        for share in shares
        for part in (share, _WHOLE + share, _WHOLE - share)
        for other in others
        if other != share
    )
    return is_part or value in _sums(others) or value in _products(others)


def _numbers(text: str, lang: Lang) -> Iterator[Decimal]:
    folded = FoldedResponse(fold(text, lang))
    yield from (quantity.value for quantity in sorted(folded.quantities, key=lambda quantity: quantity.start))
    yield from (Decimal(date.year) for date in (*folded.years, *folded.dates) if date.year)


def _shares(text: str, lang: Lang) -> list[Decimal]:
    return [quantity.value for quantity in FoldedResponse(fold(text, lang)).quantities if quantity.unit == "%"]


def _sums(numbers: list[Decimal]) -> set[Decimal]:
    """Return the sums of two, three or all numbers, and each number minus one, two or all of the others."""
    total = sum(numbers, Decimal())
    pairs = {one + other for one, other in combinations(numbers, 2)}
    found = (
        pairs | {sum(some, Decimal()) for some in combinations(numbers, 3)} | ({total} if len(numbers) > 1 else set())
    )
    found |= {abs(one - other) for one, other in combinations(numbers, 2)}
    found |= {one - pair for one in numbers for pair in pairs} | {2 * one - total for one in numbers}
    return found


def _products(numbers: list[Decimal]) -> set[Decimal]:
    pairs = [(one, other) for one, other in permutations(numbers, 2) if min(one, other) > 1]
    return {one * other for one, other in pairs} | {one / other for one, other in pairs}


def _is_ratio(share: Decimal, numbers: list[Decimal]) -> bool:
    """Check whether a percentage is the ratio of two of the numbers or the relative change between them."""
    pairs = [(one, other) for one, other in permutations(numbers, 2) if min(one, other) > 0]
    parts = (one / other for one, other in pairs if other > one)
    changes = (abs(one - other) / other for one, other in pairs)
    return any(_near(part * _WHOLE, share) for part in (*parts, *changes))


def _near(found: Decimal, wanted: Decimal) -> bool:
    """Check that `found`, rounded to the precision of `wanted`, equals `wanted`.

    Multiples of ten are compared to at least two significant digits.
    """
    exponent = int(wanted.normalize().as_tuple().exponent)
    return round(found, -exponent if exponent <= 0 else max(-exponent, 1 - wanted.adjusted())) == wanted
