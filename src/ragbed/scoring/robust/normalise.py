"""One form for both sides of a comparison, and the way back to the places in the original text.

Compatibility forms (NFKC), case, accents, dots, dashes, quotes, full-width and traditional characters are unified;
invisible characters go, and so do spaces after spaces. In Chinese all spaces go, except between Latin letters and
digits, where they tell words apart ("iPhone 14 2022年").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from opencc import OpenCC

from ragbed.schema import Lang

_ALIKE = {
    **dict.fromkeys("·・•‧∙⋅･●", "·"),
    **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
    **dict.fromkeys("‘’‛′`´", "'"),
    **dict.fromkeys("“”„‟″「」『』", '"'),
    **dict.fromkeys("\r\t\x0b\x0c*_#", " "),  # the last three are mark-up, which small models love
    **dict.fromkeys("\n\x85\u2028\u2029", "\n"),
    "，": ", ",  # never part of a number, as the comma of 1,313 is
    # Letters whose stroke is no accent to Unicode.
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "þ": "th",
    "æ": "ae",
    "œ": "oe",
    "ı": "i",
}
_GAPS: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(r"(?<= ) +"),
    "zh": re.compile(r"(?<![a-z0-9,]) +| +(?![a-z0-9])|(?<= ) +"),
}
_HAN = range(0x3400, 0xA000)


class _Table(dict[int, str]):
    """What each character becomes, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_character(chr(code))
        return folded


_TABLE = _Table()


def fold(text: str, lang: Lang) -> str:
    """The comparable form of a text."""
    return _GAPS[lang].sub("", text.translate(_TABLE))


def origins(text: str, lang: Lang) -> list[int]:
    """For each character of the comparable form, its place in the text; and the text's length after the last."""
    kept: list[int] = []
    last, places = 0, _places(text)
    for gap in _GAPS[lang].finditer(text.translate(_TABLE)):
        kept += places[last : gap.start()]
        last = gap.end()
    return [*kept, *places[last:], len(text)]


def _places(text: str) -> Sequence[int]:
    """Of what characters become, where they come from; nearly all become one."""
    sizes = {character: len(_TABLE[ord(character)]) for character in set(text)}
    others = "".join(character for character, size in sizes.items() if size != 1)
    if not others:
        return range(len(text))
    places: list[int] = []
    last = 0
    for found in re.finditer(f"[{re.escape(others)}]", text):
        places += range(last, found.start())
        places += [found.start()] * sizes[found[0]]
        last = found.end()
    return [*places, *range(last, len(text))]


def _fold_character(character: str) -> str:
    if character in _ALIKE:
        return _ALIKE[character]
    if ord(character) in _HAN:
        simplified: str = _simplifier().convert(character)
        return simplified
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    if category in {"Cc", "Cf", "Cs", "Mn"}:
        return ""
    compatible = unicodedata.normalize("NFKC", character).casefold()
    if len(compatible) == 1 and compatible in _ALIKE:
        return _ALIKE[compatible]
    bare = "".join(part for part in unicodedata.normalize("NFD", compatible) if unicodedata.category(part) != "Mn")
    return unicodedata.normalize("NFC", "".join(_ALIKE.get(part, part) for part in bare))


@cache
def _simplifier() -> OpenCC:
    """Of traditional characters, one by one: both sides of a comparison lose context alike."""
    return OpenCC("t2s")
