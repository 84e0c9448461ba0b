"""Fold text for comparison, and map positions in folded text back to the original.

Compatibility forms (NFKC), case, accents, dots, dashes, quotes, full-width and traditional characters are unified.
Invisible characters and repeated spaces are removed. In Chinese all spaces are removed, except between Latin letters
and digits, where they separate words ("iPhone 14 2022年").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from ragbed.schema import Lang
from ragbed.scoring.robust.patterns import lazy

if TYPE_CHECKING:
    from opencc import OpenCC

_ALIKE = {
    **dict.fromkeys("·・•‧∙⋅･●", "·"),
    **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
    **dict.fromkeys("‘’‛′`´", "'"),
    **dict.fromkeys("“”„‟″「」『』", '"'),
    **dict.fromkeys("\r\t\x0b\x0c*_#", " "),  # the last three characters are Markdown markup
    **dict.fromkeys("\n\x85\u2028\u2029", "\n"),
    **{chr(0x2460 + number): f"({number + 1}) " for number in range(20)},  # circled digits
    "，": ", ",  # unlike an ASCII comma (1,313), this comma is never part of a number
    # Fractions and exponents: 1½ becomes 1 1/2, and 10⁵ becomes 10^5.
    **dict(zip("½¼¾", (" 1/2", " 1/4", " 3/4"), strict=True)),
    **{character: f"^{digit}" for character, digit in zip("⁰¹⁴⁵⁶⁷⁸⁹⁻", "01456789-", strict=True)},
    # Letters that Unicode normalisation does not decompose into a base letter and an accent.
    **dict(zip("øłđðþæœı", ("o", "l", "d", "d", "th", "ae", "oe", "i"), strict=True)),
}
_GAPS: dict[Lang, re.Pattern[str]] = {
    # Both patterns start with a space instead of a lookbehind, which makes the search faster.
    # The second and third alternatives remove the spaces in 2022 年 9 月 16 日.
    "en": lazy(r" (?:(?<=  ) *|(?<=[0-9] )(?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff] )(?=[0-9]))"),
    # The space of a list item is kept: '- 6.4%' is not a negative number, and '1. 35' is not a decimal number.
    "zh": lazy(r" (?<!\A- )(?<!\n- )(?<!  - )(?<![0-9]\. )(?:(?<![a-z0-9,] ) *| *(?![a-z0-9]))"),
}
_ASCII = frozenset(map(chr, [*range(0x20, 0x7F), *b"\t\n\r"]))  # each of these characters folds to one character
_HAN = range(0x3400, 0xA000)
# Characters that OpenCC replaces although they are in GB2312, the standard set of simplified characters.
REPLACED_IN_GB2312 = "乾吒夥後徵拚捱摺於榘菸薹袷醣麴麽"


class _Table(dict[int, str]):
    """The folded form of each character, computed on first use."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_character(chr(code))
        return folded


_TABLE = _Table()


def fold(text: str, lang: Lang) -> str:
    """Return the folded form of text in the given language."""
    folded = text.translate(_TABLE)
    is_spaced = " " in folded if lang == "zh" else "  " in folded or not folded.isascii()
    return _GAPS[lang].sub("", folded) if is_spaced else folded


# Folded questions are cached, because several modules use them.
fold_question = lru_cache(maxsize=16_384)(fold)


def origins(text: str, lang: Lang) -> list[int]:
    """Return the original position of each character in the folded text, followed by the original's length."""
    folded, kept = text.translate(_TABLE), list[int]()
    last, positions = 0, _positions(text)
    for gap in _GAPS[lang].finditer(folded):
        kept += positions[last : gap.start()]
        last = gap.end()
    return [*kept, *positions[last:], len(text)]


def _positions(text: str) -> Sequence[int]:
    """Return the original position of each folded character."""
    sizes = {character: len(_TABLE[ord(character)]) for character in set(text) - _ASCII}
    others = "".join(character for character, size in sizes.items() if size != 1)
    if not others:
        return range(len(text))
    positions: list[int] = []
    last = 0
    for found in re.finditer(f"[{re.escape(others)}]", text):
        positions += range(last, found.start())
        positions += [found.start()] * sizes[found[0]]
        last = found.end()
    return [*positions, *range(last, len(text))]


def _fold_character(character: str) -> str:
    if character in _ALIKE:
        return _ALIKE[character]
    if ord(character) in _HAN:
        simplified: str = character if _is_simplified(character) else _simplifier().convert(character)
        return simplified
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    if category in {"Cc", "Cf", "Cs", "Mn"}:
        return ""
    compatible = unicodedata.normalize("NFKC", character).casefold()
    if len(compatible) == 1 and (compatible in _ALIKE or ord(compatible) in _HAN):
        return _ALIKE.get(compatible) or _fold_character(compatible)
    bare = "".join(part for part in unicodedata.normalize("NFD", compatible) if unicodedata.category(part) != "Mn")
    return unicodedata.normalize("NFC", "".join(_ALIKE.get(part, part) for part in bare))


def _is_simplified(character: str) -> bool:
    try:
        character.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return character not in REPLACED_IN_GB2312


@cache
def _simplifier() -> OpenCC:
    from opencc import OpenCC  # noqa: PLC0415 - most texts contain no traditional characters

    # Characters are converted individually, so that context is ignored on both sides of a comparison.
    return OpenCC("t2s")
