"""Add the other forms of an alias: spellings, numerals, forms of ranks, and names of the same country."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.scoring.robust.patterns import lazy

_TRANSLITERATED = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "å": "aa"}
)
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
_NUMBERED = lazy(r"^(\D*[^\W\d][ -]?)([1-9]|1[0-2])$")
_IN_ROMAN = lazy(r"^(.*[^\W\d] )([IVX]{1,4})$")
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ORDINAL = lazy(r"^(?:the )?(?:([1-9])(?:st|nd|rd|th)|([A-Za-z]+th|[Ff]irst|[Ss]econd|[Tt]hird))(?: place)?$")
_SPEED = lazy(r"^([0-9][0-9.,]* ?(?:k?m|公里|千米|米))/(?:s|h|秒|小时)$")  # read as the distance, like km/h
_ABOUT = lazy(
    r"^(?:about|approximately|approx\.|around|roughly|nearly|almost|circa|some|~|≈|大约|约|将近|接近|近) ?"
    r"(?=[0-9$€£¥a-z零一二两三四五六七八九十])"
)
# Pairs of British and American spellings.
_BRITISH = {
    "theatre": "theater", "centre": "center", "harbour": "harbor", "colour": "color", "honour": "honor",
    "labour": "labor", "defence": "defense", "grey": "gray", "aluminium": "aluminum", "programme": "program",
    "organisation": "organization", "fibre": "fiber", "sulphur": "sulfur", "jewellery": "jewelry", "tyre": "tire",
}  # fmt: skip
_SPELLINGS = _BRITISH | {american: british for british, american in _BRITISH.items()}
_WORD = lazy("[A-Za-z]+")
_RANGE = lazy(
    r"^([^至到~-]{0,20}[0-9][^至到~-]{0,20}?) ?(?:至|到|~|-|–|—| to ) ?([^至到~-]{0,20}[0-9][^至到~-]{0,20})$"
)
_RANGE_FORMATS = ("{}至{}", "{}到{}", "{}-{}", "{}~{}", "{} to {}", "between {} and {}")
_TITLED = lazy(r"^(?:(Saint|St\.?)|(?:Mount|Mt\.?))[ -](?=[A-Z])")
# Names of the same country, city or organisation.
_SAME = [
    [name.strip() for name in line.split("/")]
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
""".strip().splitlines()
]
_SAME_NAMES = {name: names for names in _SAME for name in names}


def spellings(alias: str) -> Iterator[str]:
    """Yield other spellings of an alias, skipping all patterns that its last character rules out."""
    last = alias.rstrip()[-1:]
    if "/" in alias and (found := _SPEED.match(alias)):
        yield found[1]
    if found := _ABOUT.match(alias):
        yield alias[found.end() :]
    if not _SPELLINGS.keys().isdisjoint(_WORD.findall(alias.lower())):
        yield _WORD.sub(_swap_spelling, alias)
    if (found := _ORDINAL.match(alias)) and (found[1] or found[2].lower() in _ORDINALS):
        number = int(found[1]) if found[1] else _ORDINALS.index(found[2].lower())
        yield from (_ORDINALS[number], f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }")
    if not alias.isascii() and (plain := alias.translate(_TRANSLITERATED)) != alias:
        yield plain
    if last.isdigit() and (found := _NUMBERED.match(alias)):
        yield f"{found[1].rstrip(' -')} {_ROMAN[int(found[2])]}"
    elif last in _ROMAN and (found := _IN_ROMAN.match(alias)) and found[2] in _ROMAN:
        yield f"{found[1]}{_ROMAN.index(found[2])}"
    if alias[:1] in "SM" and (found := _TITLED.match(alias)):
        yield from (f"{title} {alias[found.end() :]}" for title in (("Saint", "St") if found[1] else ("Mount", "Mt")))
    if found := _RANGE.match(alias):
        yield from (form.format(found[1], found[2]) for form in _RANGE_FORMATS)
    name = alias.removeprefix("the ").removeprefix("The ")
    yield from (other for other in _SAME_NAMES.get(name, ()) if other != name)


def _swap_spelling(found: re.Match[str]) -> str:
    """Return the British spelling of an American word or vice versa; other words are returned unchanged."""
    other = _SPELLINGS.get(found[0].lower(), found[0])
    return other.capitalize() if found[0][0].isupper() and other != found[0] else other
