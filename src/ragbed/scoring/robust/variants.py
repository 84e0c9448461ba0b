"""Add the other forms of an alias: spellings, numerals, ranks, shares, decades, centuries, and names of a country."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from ragbed.scoring.robust.patterns import lazy

_TRANSLITERATED = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "å": "aa"}
)
# Pairs of British and American spellings.
_BRITISH = {
    "theatre": "theater", "centre": "center", "harbour": "harbor", "colour": "color", "honour": "honor",
    "labour": "labor", "defence": "defense", "grey": "gray", "aluminium": "aluminum", "programme": "program",
    "organisation": "organization", "fibre": "fiber", "sulphur": "sulfur", "jewellery": "jewelry", "tyre": "tire",
}  # fmt: skip
_SPELLINGS = _BRITISH | {american: british for british, american in _BRITISH.items()}
_WORD = lazy("[A-Za-z]+")
# Names of the same country, city or organisation, and notations of the same share.
_SAME = [
    [name.strip() for name in line.split(" / ")]
    for line in """
United States of America / United States / USA / US / 美国 / 美利坚合众国
United Kingdom / UK / Great Britain / 英国
United Arab Emirates / UAE / 阿联酋
European Union / EU / 欧盟 / 欧洲联盟
United Nations / UN / 联合国
World Health Organization / WHO / 世界卫生组织 / 世卫组织
New York City / NYC
Los Angeles / L.A.
South Korea / Republic of Korea / 韩国
North Korea / DPRK / 朝鲜
Democratic Republic of the Congo / DRC / 刚果民主共和国 / 刚果(金)
Czech Republic / Czechia
50% / half of / one half / 1/2 / 二分之一 / 一半
25% / a quarter / one quarter / 1/4 / 四分之一 / one in four / one out of four
75% / three quarters / 3/4 / 四分之三 / three in four / three out of four
20% / a fifth / one fifth / 1/5 / 五分之一 / one in five / one out of five
12.5% / an eighth / one eighth / 1/8 / 八分之一
33.3% / a third / one third / 1/3 / 三分之一 / one in three / one out of three
66.7% / two thirds / 2/3 / 三分之二 / two in three / two out of three
""".strip().splitlines()
]
_SAME_NAMES = {name: names for names in _SAME for name in names}
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
_RANKS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_TENS = ("twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")
_ABOUT = r"about|approximately|approx\.|around|roughly|nearly|almost|circa|some|~|≈|大约|约|将近|接近|近"
_END = "[^至到~-]{0,20}[0-9][^至到~-]{0,20}"
_RANGE = ("{}至{}", "{}到{}", "{}-{}", "{}~{}", "{} to {}", "between {} and {}")
# Patterns of aliases, each with the other forms of an alias that matches it.
_FORMS: list[tuple[re.Pattern[str], Callable[[re.Match[str]], Iterable[str]]]] = [
    # A speed is read as the distance, like km/h.
    (lazy(r"^([0-9][0-9.,]* ?(?:k?m|公里|千米|米))/(?:s|h|秒|小时)$"), lambda found: [found[1]]),
    (lazy(rf"^(?:{_ABOUT}) ?([0-9$€£¥a-z零一二两三四五六七八九十].*)"), lambda found: [found[1]]),
    (lazy(r"^(?:the )?([1-9])(?:st|nd|rd|th)(?: place)?$"), lambda found: _ranks(int(found[1]))),
    (
        lazy(rf"^(?i:(?:the )?({'|'.join(_RANKS[1:])}))(?: place)?$"),
        lambda found: _ranks(_RANKS.index(found[1].lower())),
    ),
    (lazy(r"^(\D*[^\W\d])[ -]?([1-9]|10)$"), lambda found: [f"{found[1]} {_ROMAN[int(found[2])]}"]),
    (
        lazy(rf"^(.*[^\W\d] )({'|'.join(_ROMAN[1:])})$"),
        lambda found: [f"{found[1]}{_ROMAN.index(found[2])}", f"{found[1]}the {_RANKS[_ROMAN.index(found[2])]}"],
    ),
    (lazy(r"^(?:the )?(?:1[0-9]|20)([2-9])0s$"), lambda found: [_TENS[int(found[1]) - 2], f"{found[1]}0s"]),
    # 1000s can also be an indefinite number.
    (lazy(r"^(?:the )?(1[2-9]|2[01])(?:st|nd|rd|th) century$"), lambda found: [f"{int(found[1]) - 1}00s"]),
    (lazy(r"^(?:Saint|St\.?)[ -]([A-Z].*)"), lambda found: [f"Saint {found[1]}", f"St {found[1]}"]),
    (lazy(r"^(?:Mount|Mt\.?)[ -]([A-Z].*)"), lambda found: [f"Mount {found[1]}", f"Mt {found[1]}"]),
    (
        lazy(rf"^({_END}?) ?(?:至|到|~|-|–|—| to ) ?({_END})$"),
        lambda found: [each.format(*found.groups()) for each in _RANGE],
    ),
]


def spellings(alias: str) -> Iterator[str]:
    """Yield the other forms of an alias."""
    for pattern, forms in _FORMS:
        yield from forms(found) if (found := pattern.match(alias)) else ()
    if not _SPELLINGS.keys().isdisjoint(_WORD.findall(alias.lower())):
        yield _WORD.sub(_swap_spelling, alias)
    if not alias.isascii() and (plain := alias.translate(_TRANSLITERATED)) != alias:
        yield plain
    name = alias.removeprefix("the ").removeprefix("The ")
    yield from (other for other in _SAME_NAMES.get(name, ()) if other != name)


def _ranks(number: int) -> list[str]:
    return [_RANKS[number], f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }"]


def _swap_spelling(found: re.Match[str]) -> str:
    """Return the British spelling of an American word or vice versa; other words are returned unchanged."""
    other = _SPELLINGS.get(found[0].lower(), found[0])
    return other.capitalize() if found[0][0].isupper() and other != found[0] else other
