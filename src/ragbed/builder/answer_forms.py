"""How a false answer is written in the place of the true one: as a text there writes such things.

"$44bn" becomes "$17bn" and "12 Nov 2020" becomes "3 May 2019" whatever form the false answer was given in.
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
_PADDED = re.compile(r"(-)([0-9])(?![0-9])")
_NUMBER = re.compile(r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?")
_MOST_DECIMALS = 3
"""A number with more after the point was scaled into a form that nobody writes."""


def write_like(said: str, false: str, slots: tuple[GoldSlot, GoldSlot], lang: Lang) -> str:
    """The false answer in the form in which a text says the true one.

    Args:
        said: The stretch that says the true answer.
        false: The false answer, as it is given.
        slots: The true answer and the false one, read.
        lang: Of the text.
    """
    true, other = slots
    written = None
    if other.dates:
        written = _write_date(said, true.dates, other.dates[0], lang)
    elif other.quantities:
        written = _write_quantity(said, other.quantities[0], lang)
    return written if written is not None else _in_case_of(said, false)


def _in_case_of(said: str, false: str) -> str:
    if said.isupper() and len(said) > 1 and any(letter.isascii() for letter in said):
        return false.upper()
    return false.lower() if said.islower() and said.isascii() else false


def _write_quantity(said: str, wanted: Quantity, lang: Lang) -> str | None:
    """The number alone is exchanged, so that unit, sign and scale stay as the text has them."""
    folded = fold(said, lang)
    read = next((one for one in FoldedResponse(folded).quantities if one.value), None)
    if read is None or (read.unit != wanted.unit and read.unit and wanted.unit):
        return None
    digits = _NUMBER.search(said)
    if digits is None:
        return _in_words(said, wanted.value, lang)
    number = Decimal(digits[0].replace(",", ""))
    value = wanted.value * number / abs(read.value) if number else wanted.value
    if value != round(value, _MOST_DECIMALS):
        return None
    plain = f"{value.normalize():f}"
    spelled = f"{Decimal(plain):,}" if "," in digits[0] else plain
    return said[: digits.start()] + spelled + said[digits.end() :]


def _in_words(said: str, value: Decimal, lang: Lang) -> str | None:
    """In words, where the whole stretch is a number in words and the value a whole number."""
    if value != int(value) or value < 0:
        return None
    pattern = r"[零〇一二两三四五六七八九十百千万亿]+" if lang == "zh" else r"[A-Za-z]+(?:[ -][A-Za-z]+)*"
    found = re.search(pattern, said)
    if found is None:
        return None
    if lang == "zh":
        return said[: found.start()] + spoken(int(value)) + said[found.end() :]
    number, unit = _number_part(found[0])
    words = in_words(int(value))
    words = words[0].upper() + words[1:] if number[0].isupper() else words
    return said[: found.start()] + words + unit + said[found.end() :]


def _number_part(words: str) -> tuple[str, str]:
    """'forty-four billion dollars' as its number and what follows."""
    end = max((one.end for one in FoldedResponse(words.lower()).quantities if not one.unit), default=0)
    if end:
        return words[:end], words[end:]
    head, space, tail = words.rpartition(" ")
    return (head, space + tail) if head else (words, "")


def _write_date(said: str, true: tuple[Date, ...], wanted: Date, lang: Lang) -> str | None:
    """Day, month and year are exchanged one by one; what the false date does not tell stays."""
    folded = fold(said, lang)
    reading = FoldedResponse(folded)
    readings = reading.dates or reading.years
    if not readings:
        return None
    told = min(
        readings, key=lambda one: any(one.contradicts(date) for date in true)
    )  # 12/11/2020 can be read in two ways
    left = {name: (getattr(told, name), getattr(wanted, name)) for name in ("year", "month", "day")}
    order = (
        ("year", "month", "day") if re.match(r"\W*[12][0-9]{3}\D", said) or "月" in said else ("day", "month", "year")
    )

    def exchange(match: re.Match[str]) -> str:
        for name in order:
            old, new = left.get(name, (None, None))
            if old is not None and (write := _reader(match[0], name, old)):
                del left[name]
                return match[0] if new is None else write(new)
        return match[0]

    written = _DATE_TOKEN.sub(exchange, said)
    return _PADDED.sub(r"\g<1>0\g<2>", written) if _PADDED_DATE.search(said) else written


def _reader(token: str, name: str, value: int) -> Callable[[int], str] | None:
    """How to write another year, month or day like a token, if the token says this one."""
    if token[0].isdigit():
        digits = token.rstrip("stndrh")
        if int(digits) == value:
            return lambda new: str(new).zfill(len(digits) if digits[0] == "0" else 1) + _ordinal(new, token)
    elif not token.isascii():
        if numeral(value) == token:
            return numeral
        if "".join("零一二三四五六七八九"[int(digit)] for digit in str(value)) == token.replace("〇", "零"):
            return lambda new: "".join("〇一二三四五六七八九"[int(digit)] for digit in str(new))
    elif name == "month" and len(token) >= 3 and _MONTHS[value - 1].lower().startswith(token.lower()[:4]):
        return lambda new: _month_like(token, new)
    return None


def _ordinal(number: int, token: str) -> str:
    if token[-1].isdigit():
        return ""
    return "th" if number in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _month_like(token: str, month: int) -> str:
    name = _MONTHS[month - 1]
    is_short = len(token) <= 4 and token.lower() not in {"june", "july", "may"}
    name = name[:3] if is_short else name
    return name.upper() if token.isupper() else name.lower() if token.islower() else name
