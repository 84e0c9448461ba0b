"""Add the other forms of an alias: spellings, abbreviations, numerals, decades, centuries, ordinals and fractions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from ragbed.scoring.robust.patterns import lazy
from ragbed.text import in_words

_TRANSLITERATED = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "å": "aa"}
)
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
_NUMBERED = lazy(r"^(\D*[^\W\d][ -]?)([1-9]|1[0-2])$")
_IN_ROMAN = lazy(r"^(.*[^\W\d] )([IVX]{1,4})$")
_DECADE = lazy(r"^(?:the )?(?:1[5-9]|20)([2-9])0s$")
_TENS = ("", "", "twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")
_OF = lazy(r"^(?:the )?([A-Z][a-z]+) of ([A-Z][a-z]+?)s?$")
_SHORT_NAMES = {
    "Tuesday": "Tues", "Thursday": "Thurs", "Friday": "Fri", "January": "Jan", "February": "Feb", "August": "Aug",
    "September": "Sept", "October": "Oct", "November": "Nov", "December": "Dec",
}  # fmt: skip
_SPEED = lazy(r"^([0-9][0-9.,]* ?(?:k?m|公里|千米|米))/(?:s|h|秒|小时)$")  # read as the distance, like km/h
_ABOUT = lazy(
    r"^(?:about|approximately|approx\.|around|roughly|nearly|almost|circa|some|~|≈|大约|约|将近|接近|近) ?"
    r"(?=[0-9$€£¥a-z零一二两三四五六七八九十])"
)
_MIN_CENTURY = 12  # earliest century with a variant such as '1100s'; '100s' and '1000s' can also be indefinite numbers
_MAX_RANGE = 64  # aliases with more characters are not searched for a range, because the search would take too long
_CENTURY = lazy(r"^(?:the )?([0-9]{1,2})(?:st|nd|rd|th) century$")
_RANGE = lazy(r"^([^至到~-]*[0-9][^至到~-]*?) ?(?:至|到|~|-|–|—| to ) ?([^至到~-]*[0-9][^至到~-]*)$")
_RANGE_FORMATS = ("{}至{}", "{}到{}", "{}-{}", "{}~{}", "{} to {}", "between {} and {}")
# Pairs of British and American spellings.
_BRITISH = {
    "theatre": "theater", "centre": "center", "harbour": "harbor", "colour": "color", "honour": "honor",
    "labour": "labor", "defence": "defense", "grey": "gray", "aluminium": "aluminum", "programme": "program",
    "organisation": "organization", "fibre": "fiber", "sulphur": "sulfur", "jewellery": "jewelry", "tyre": "tire",
}  # fmt: skip
_SPELLINGS = _BRITISH | {american: british for british, american in _BRITISH.items()}
_WORD = lazy("[A-Za-z]+")
_ORDINALS = ("", "First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth", "Ninth", "Tenth")
# Words such as 'third' are ordinals unless a number precedes them.
_SHARES_IN_WORDS = lazy(r"^(?:half|(?:an?|one|two|three|four|five) (?:half|third|quarter|fifth|sixth|eighth|tenth)s?)$")
_PERCENT = lazy(r"^([0-9]+(?:\.[0-9]+)?) ?(?:%|per ?cent|percent)$")
_FRACTION = lazy(r"^([1-9]) ?/ ?([2-9]|10)$|^([二三四五六七八九十])分之([一二三四五六七八九])$")
_ENDS_OF_SHARES = frozenset("%tfdrhs0123456789一二三四五六七八九")  # final characters of percentages and fractions
_PARTS = {
    2: "half",
    3: "third",
    4: "quarter",
    5: "fifth",
    6: "sixth",
    7: "seventh",
    8: "eighth",
    9: "ninth",
    10: "tenth",
}
_TITLED = lazy(r"^(?:(Saint|St\.?)|(?:Mount|Mt\.?))[ -](?=[A-Z])")
_COMPANY = lazy(r"^(.{2,60}?),? (?:Inc|Incorporated|Ltd|Limited|Corp|Corporation|LLC|PLC|plc|GmbH|AG|Co)\b\.?$")
_ORDINAL = lazy(r"^(?:the )?(?:([1-9])(?:st|nd|rd|th)|([A-Za-z]+th|[Ff]irst|[Ss]econd|[Tt]hird))(?: place)?$")
_RANK = lazy(r"^第([1-9]|10|[一二三四五六七八九十])([名位]?)$")
_MEDALLISTS = ("", "冠军", "亚军", "季军")
# Names of the same country, city or organisation. Those before the bar are also the same as part of a longer name (US
# Congress); the others are the same only if they are the complete name (America, but not Bank of America).
_SAME_TEXT = """
United States of America / United States / USA / US | America / 美国 / 美利坚合众国
United Kingdom / UK | Britain / Great Britain / 英国
United Arab Emirates / UAE | 阿联酋 / 阿拉伯联合酋长国
European Union / EU | 欧盟 / 欧洲联盟
United Nations / UN | 联合国
World Health Organization / WHO | 世界卫生组织 / 世卫组织 / 世卫
New York City / NYC | New York
Los Angeles / L.A. |
| NATO / 北约 / 北大西洋公约组织
| People's Republic of China / PRC / China
| South Korea / Republic of Korea / 韩国 / 大韩民国
| North Korea / Democratic People's Republic of Korea / DPRK / 朝鲜
| Democratic Republic of the Congo / Democratic Republic of Congo / DRC / 刚果民主共和国 / 刚果(金) / 刚果（金）/ 刚果金
| Czech Republic / Czechia
| Netherlands / Holland
"""
_SAME = [
    tuple(tuple(name.strip() for name in names.split("/") if name.strip()) for names in line.split("|"))
    for line in _SAME_TEXT.strip().splitlines()
]
_AFTER_NAME = r"(?=[.,;:!?)\n'’*]|\Z| (?:is|was|has|had|did|in|on|at|to|from|for|by|and|which|that)\b)"
# Those of the above that are also part of other names: Captain America, New York Yankees.
_AMBIGUOUS = frozenset({"America", "Britain", "Holland", "New York"})
_SAME_NAMES = {name: (*anywhere, *alone) for anywhere, alone in _SAME for name in (*anywhere, *alone)}
_SAME_PARTS = {name: anywhere for anywhere, _ in _SAME for name in anywhere}
_SAME_PART = lazy(rf"(?<!\w)(?:{'|'.join(map(re.escape, _SAME_PARTS))})(?!\w)")
_COUNTS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_HAN = "零一二三四五六七八九十"


def spellings(alias: str) -> Iterator[str]:
    """Yield other spellings of an alias, skipping all patterns that its last character rules out."""
    last = alias.rstrip()[-1:]
    if alias in _SHORT_NAMES:
        yield _SHORT_NAMES[alias]
    if "/" in alias and (found := _SPEED.match(alias)):
        yield found[1]
    if found := _ABOUT.match(alias):
        yield alias[found.end() :]
    if not _SPELLINGS.keys().isdisjoint(_WORD.findall(alias.lower())):
        yield _WORD.sub(_swap_spelling, alias)
    yield from _numbers(alias, last)
    if not alias.isascii() and (plain := alias.translate(_TRANSLITERATED)) != alias:
        yield plain
    if last.isdigit() and (found := _NUMBERED.match(alias)):
        yield f"{found[1].rstrip(' -')} {_ROMAN[int(found[2])]}"
    elif last in _ROMAN and (found := _IN_ROMAN.match(alias)) and found[2] in _ROMAN:
        number = _ROMAN.index(found[2])
        yield f"{found[1]}{number}"
        if number < len(_ORDINALS):
            yield f"{found[1]}the {_ORDINALS[number]}"
    yield from _phrases(alias)


def _phrases(alias: str) -> Iterator[str]:
    if alias[:1] in "SM" and (found := _TITLED.match(alias)):
        yield from (f"{title} {alias[found.end() :]}" for title in (("Saint", "St") if found[1] else ("Mount", "Mt")))
    if " " in alias and (found := _COMPANY.match(alias)):
        yield found[1]
    yield from _names_for_same(alias)
    if "0s" in alias and (found := _DECADE.match(alias)):
        yield from (_TENS[int(found[1])], f"{found[1]}0s")
    if " of " in alias and (found := _OF.match(alias)):
        yield f"{found[2]} {found[1]}"
    if "century" in alias and (found := _CENTURY.match(alias)) and int(found[1]) >= _MIN_CENTURY:
        yield f"{int(found[1]) - 1}00s"
    if len(alias) <= _MAX_RANGE and (found := _RANGE.match(alias)):
        yield from (form.format(found[1], found[2]) for form in _RANGE_FORMATS)


def written_form(alias: str, aliases: tuple[str, ...]) -> str:
    """Return a pattern that the unfolded response must match if an alias is a short form such as Gap for 'Gap Inc'.

    The name must be in capitals and must not be part of another name or phrase: Gap year, Big Apple, Bank of America.
    The pattern is empty for aliases that are not short forms.
    """
    if alias in aliases:
        return ""
    is_company = alias.isalpha() and any(found[1] == alias for found in map(_COMPANY.match, aliases) if found)
    if not is_company and alias not in _AMBIGUOUS:
        return ""
    return rf"(?:\A|[.:;(\n\"*] ?|(?<!\w)(?!an? |of |upstate )[a-z]+ )(?:{alias}|{alias.upper()}){_AFTER_NAME}"


def _names_for_same(alias: str) -> Iterator[str]:
    """Yield other names of the same country, city or organisation, also as a part of the alias: US Congress."""
    name = alias.removeprefix("the ").removeprefix("The ")
    if name in _SAME_NAMES:
        yield from (other for other in _SAME_NAMES[name] if other != name)
    elif name != name.lower() and (found := _SAME_PART.search(alias)):  # all these names have capital letters
        for other in _SAME_PARTS[found[0]]:
            if other != found[0]:
                yield alias[: found.start()] + other + alias[found.end() :]


def _ranks(alias: str) -> Iterator[str]:
    """Yield other forms of a rank, e.g. '2nd' for 'second' and 第2名 for 第二名."""
    if found := _RANK.match(alias):
        number = _HAN.index(found[1]) if found[1] in _HAN else int(found[1])
        yield from (f"第{written}{noun}" for written in (number, _HAN[number]) for noun in ("名", "位"))
        if found[2] == "名" and number < len(_MEDALLISTS):
            yield _MEDALLISTS[number]
    elif (found := _ORDINAL.match(alias)) and (found[1] or found[2].capitalize() in _ORDINALS):
        number = int(found[1]) if found[1] else _ORDINALS.index(found[2].capitalize())
        suffix = {1: "st", 2: "nd", 3: "rd"}.get(number, "th")
        yield from (_ORDINALS[number].lower(), f"{number}{suffix}")


def _swap_spelling(found: re.Match[str]) -> str:
    """Return the British spelling of an American word or vice versa; other words are returned unchanged."""
    other = _SPELLINGS.get(found[0].lower(), found[0])
    return other.capitalize() if found[0][0].isupper() and other != found[0] else other


def _numbers(alias: str, last: str) -> Iterator[str]:
    yield from _ranks(alias)
    if last in _ENDS_OF_SHARES:
        yield from _fractions(alias)


def _fractions(alias: str) -> Iterator[str]:
    if found := _PERCENT.match(alias):
        share = Fraction(found[1]) / 100
        tenths, rest = divmod(share * 20, 2)
        if 0 < tenths < 10 and rest in (0, 1):
            yield f"{_HAN[int(tenths)]}成{'五' if rest else ''}"
        if share.denominator in _PARTS and share < 1:
            yield from _names(share)
    elif _SHARES_IN_WORDS.match(alias) and (share := _share_in_words(alias)) < 1:
        yield from _names(share)
    elif found := _FRACTION.match(alias):
        top, bottom = (int(found[1]), int(found[2])) if found[1] else (_HAN.index(found[4]), _HAN.index(found[3]))
        if top < bottom:
            yield from _names(Fraction(top, bottom))


def _share_in_words(alias: str) -> Fraction:
    *counts, part = alias.split()
    bottom = next(number for number, name in _PARTS.items() if part in (name, f"{name}s"))
    top = _COUNTS.index(counts[0]) if counts and counts[0] in _COUNTS else 1
    return Fraction(top, bottom)


def _names(share: Fraction) -> Iterator[str]:
    top, bottom = share.numerator, share.denominator
    yield f"{_HAN[bottom]}分之{_HAN[top]}"
    yield f"{top}/{bottom}"
    yield f"{_COUNTS[top]} {_PARTS[bottom]}{'s' if top > 1 else ''}"
    yield from (f"{_COUNTS[top]} {word} {in_words(bottom)}" for word in ("in", "out of"))
    if bottom == 2:
        yield from ("half of", "一半")
    if top == 1:
        yield f"an {_PARTS[bottom]}" if bottom == 8 else f"a {_PARTS[bottom]}"
