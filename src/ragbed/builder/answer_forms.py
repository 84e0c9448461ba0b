"""Write a false answer in the same format as the true answer in a text.

For example, "$44bn" becomes "$17bn" and "12 Nov 2020" becomes "3 May 2019", regardless of how the false answer is
written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

from ragbed.schema import Lang
from ragbed.scoring.robust.dates import Date
from ragbed.scoring.robust.gold import GoldSlot
from ragbed.scoring.robust.match import FoldedResponse
from ragbed.scoring.robust.normalise import fold
from ragbed.scoring.robust.quantities import Quantity
from ragbed.text import in_words, numeral, spoken

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DATE_TOKEN = re.compile(r"[A-Za-z]+|[0-9]+(?:st|nd|rd|th)?|[零〇一二三四五六七八九十]+")
_PADDED_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_UNPADDED = re.compile(r"(-)([0-9])(?![0-9])")
_NUMBER = re.compile(r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?")
_NUMBER_WORDS = {
    "en": re.compile(r"[A-Za-z]+(?:[ -][A-Za-z]+)*"),
    "zh": re.compile(r"[零〇一二两三四五六七八九十百千万亿]+"),
}
_MAX_DECIMALS = 3  # maximum number of decimal places; scaling can produce more, which would look unnatural


def write_like(original: str, false: str, slots: tuple[GoldSlot, GoldSlot], lang: Lang) -> str:
    """Write the false answer in the same format as the true answer in a text.

    Args:
        original: The span that states the true answer.
        false: The false answer.
        slots: The parsed true answer and the parsed false answer.
        lang: Language of the text.
    """
    true, other = slots
    written = None
    if other.dates:
        written = _write_date(original, true.dates, other.dates[0], lang)
    elif other.quantities:
        written = _write_quantity(original, other.quantities[0], lang)
    return _match_case(original, false) if written is None else written


def _match_case(original: str, false: str) -> str:
    if original.isupper() and len(original) > 1 and any(letter.isascii() for letter in original):
        return false.upper()
    return false.lower() if original.islower() and original.isascii() else false


def _write_quantity(original: str, wanted: Quantity, lang: Lang) -> str | None:
    """Replace only the number in the original span, keeping the unit, sign and scale."""
    quantities = FoldedResponse(fold(original, lang)).quantities
    parsed = next((quantity for quantity in quantities if quantity.value), None)
    if parsed is None or (parsed.unit != wanted.unit and parsed.unit and wanted.unit):
        return None
    digits = _NUMBER.search(original)
    if digits is None:
        return _write_number_words(original, wanted.value, lang)
    number = Decimal(digits[0].replace(",", ""))
    value = wanted.value * number / abs(parsed.value) if number else wanted.value
    if value != round(value, _MAX_DECIMALS):
        return None
    value = Decimal(f"{value.normalize():f}")
    return original[: digits.start()] + (f"{value:,}" if "," in digits[0] else f"{value:f}") + original[digits.end() :]


def _write_number_words(original: str, value: Decimal, lang: Lang) -> str | None:
    found = _NUMBER_WORDS[lang].search(original)
    if found is None or value != int(value) or value < 0:
        return None
    if lang == "zh":
        words = spoken(int(value))
    else:
        number, unit = _split_unit(found[0])
        words = in_words(int(value)) + unit
        words = words[0].upper() + words[1:] if number[0].isupper() else words
    return original[: found.start()] + words + original[found.end() :]


def _split_unit(words: str) -> tuple[str, str]:
    """Split a quantity in words, e.g. "forty-four billion dollars", into the number and the unit."""
    quantities = FoldedResponse(words.lower()).quantities
    if end := max((quantity.end for quantity in quantities if not quantity.unit), default=0):
        return words[:end], words[end:]
    head, space, tail = words.rpartition(" ")
    return (head, space + tail) if head else (words, "")


def _write_date(original: str, true: tuple[Date, ...], wanted: Date, lang: Lang) -> str | None:
    """Replace the day, month and year separately, keeping each part that the false date does not specify."""
    response = FoldedResponse(fold(original, lang))
    readings = response.dates or response.years
    if not readings:
        return None
    # 12/11/2020 can be read in two ways, so prefer the reading that agrees with the true answer.
    parsed = min(readings, key=lambda reading: any(reading.contradicts(date) for date in true))
    order = ("day", "month", "year")
    if re.match(r"\W*[12][0-9]{3}\D", original) or "月" in original:
        order = ("year", "month", "day")
    pending = {name: (getattr(parsed, name), getattr(wanted, name)) for name in order}

    def exchange(match: re.Match[str]) -> str:
        for name, (old, new) in pending.items():
            if old is not None and (write := _writer_like(match[0], name, old)):
                del pending[name]
                return match[0] if new is None else write(new)
        return match[0]

    written = _DATE_TOKEN.sub(exchange, original)
    return _UNPADDED.sub(r"\g<1>0\g<2>", written) if _PADDED_DATE.search(original) else written


def _writer_like(token: str, name: str, value: int) -> Callable[[int], str] | None:
    """Return a function that formats numbers like a date token, or None if the token does not represent `value`."""
    if token[0].isdigit():
        digits = token.rstrip("stndrh")
        if int(digits) == value:
            return lambda new: str(new).zfill(len(digits) if digits[0] == "0" else 1) + _ordinal_suffix(new, token)
    elif not token.isascii():
        if numeral(value) == token:
            return numeral
        if _digit_by_digit(value) == token.replace("零", "〇"):
            return _digit_by_digit
    elif name == "month" and len(token) >= 3 and _MONTHS[value - 1].lower().startswith(token.lower()[:4]):
        return lambda new: _month_like(token, new)
    return None


def _digit_by_digit(number: int) -> str:
    return "".join("〇一二三四五六七八九"[int(digit)] for digit in str(number))


def _ordinal_suffix(number: int, token: str) -> str:
    if token[-1].isdigit():
        return ""
    return "th" if number in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _month_like(token: str, month: int) -> str:
    is_short = len(token) <= 4 and token.lower() not in {"june", "july", "may"}
    name = _MONTHS[month - 1][: 3 if is_short else None]
    return name.upper() if token.isupper() else name.lower() if token.islower() else name
