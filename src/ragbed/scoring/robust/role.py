"""Define a mention's role, and derive it from the year or part that its clause names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ragbed.schema import Lang
from ragbed.scoring.robust.question import Asked

DIRECT = 3  # strength of an answer that stands alone at the start of a response

_YEAR = re.compile(r"(?:1[5-9]|20)(?<![0-9]..)[0-9]{2}(?![0-9])")
_RANGE = re.compile(
    r"((?:1[5-9]|20)[0-9]{2})年?[^,。;0-9]{0,3}?(?:-|~|to|until|至|到)[^,。;0-9]{0,2}((?:1[5-9]|20)[0-9]{2})"
)
_BIRTH = re.compile(r"\bborn\b|\bsince\b|\baged?\b|\( ?\0|出生|生于|自从|以来")


# Sets of words that exclude each other. Bars separate groups of synonyms.
_SETS_EN = """
north northern | south southern | east eastern | west western
upper | lower
inner | outer
old older elder oldest eldest | new newer newest young younger youngest
junior youth under-21 | senior adult
men men's male | women women's female
summer | winter | spring | autumn fall
interim provisional temporary | permanent
indoor | outdoor
minimum | maximum
most | least
highest | lowest
largest biggest | smallest
longest | shortest
earliest | latest
fastest | slowest
domestic | international
imported imports | exported exports
opening opened | closing closed
morning | afternoon | evening
regional | national
husband | wife
father | mother
bride | groom bridegroom
"""
_SETS_ZH = """
东部|西部|南部|北部
内圈|外圈
内环|外环
上游|下游
上半年|下半年
青年组|成年组|少年组|老年组
男子|女子
春汛|秋汛|夏汛
春季|夏季|秋季|冬季
临时|永久|正式
正使|副使
初版|再版|修订版
最早|最晚
最大|最小
最高|最低
最多|最少
最长|最短
前年|去年|今年|明年
上届|本届|下届
室内|室外
"""
_ORDINALS = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "1st",
    "2nd",
    "3rd",
    "4th",
    "5th",
    "6th",
    "7th",
    "8th",
    "9th",
    "10th",
]
_NUMBERED = {
    "en": re.compile(
        rf"\b({'|'.join(_ORDINALS)})[ -]([a-z]{{4,}})|\b(?P<kind>[a-z]{{3,}}) (?P<number>[0-9]{{1,3}})\b(?![.,%])"
    ),
    "zh": re.compile("第([一二三四五六七八九十0-9]+)([期届季代卷批阶])"),
}


class Role(NamedTuple):
    """The role of a mention.

    Attributes:
        status: What the mention is if it is not the answer, or nothing.
        weak: Whether the status counts only if the response has another candidate.
        strength: How clearly the clause expresses the asked relation: 0, 1, 2, or `DIRECT`.
    """

    status: str
    weak: bool
    strength: int


@lru_cache(maxsize=1)
def _sets() -> tuple[tuple[frozenset[str], ...], ...]:
    english = (line.split("|") for line in _SETS_EN.strip().splitlines())
    chinese = (line.split("|") for line in _SETS_ZH.strip().splitlines())
    return tuple(tuple(frozenset(member.split()) for member in line) for line in (*english, *chinese))


@lru_cache(maxsize=16_384)
def _asked_members(question: str, lang: Lang) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return, for each set with exactly one member in the question, that member and the words of the others."""
    found = []
    terms = frozenset(re.findall(r"[a-z0-9'-]+", question)) if lang == "en" else None
    for members in _sets():
        named = [member for member in members if _names(member, question, terms)]
        if len(named) == 1:
            found.append((named[0], frozenset[str]().union(*members) - named[0]))
    return tuple(found)


def _names(member: frozenset[str], text: str, terms: frozenset[str] | None) -> bool:
    return not member.isdisjoint(terms) if terms is not None else any(word in text for word in member)


def contrast_role(asked: Asked, lang: Lang, clause: str, text: str, strength: int) -> Role | None:
    """Return the role of a mention whose clause names a different part or side from the question, e.g. south."""
    members = _asked_members(asked.text, lang)
    terms = frozenset(clause.split()) if lang == "en" and members else None
    for asked_words, others in members:
        if _names(others, clause, terms) and not _names(asked_words, clause, terms):
            is_contrasted = any(word in text for word in asked_words)
            if strength >= 2 or is_contrasted:
                return Role("other-part", weak=False, strength=0)
    wanted = _asked_numbers(asked.text, lang)
    if len(wanted) != 1:
        return None
    named = {_numbered(found) for found in _NUMBERED[lang].finditer(clause)}
    if any(kind in {each[1] for each in wanted} for _, kind in named) and not named & wanted:
        return Role("other-part", weak=False, strength=0)
    return None


@lru_cache(maxsize=16_384)
def _asked_numbers(question: str, lang: Lang) -> frozenset[tuple[str, str]]:
    return frozenset(_numbered(found) for found in _NUMBERED[lang].finditer(question))


def _numbered(found: re.Match[str]) -> tuple[str, str]:
    """Return the number and what it counts, e.g. of 'second phase' or 'grave 12'."""
    return (found["number"], found["kind"]) if found.groupdict().get("kind") else (found[1], found[2])


def year_role(asked: Asked, clause: str, text: str, strength: int) -> Role | None:
    """Return the role implied by a clause's years: the requested year supports a mention, another year opposes it."""
    if len(asked.years) != 1:
        return None
    years = set(_YEAR.findall(clause))
    if not years or any(first <= next(iter(asked.years)) <= last for first, last in _RANGE.findall(clause)):
        return None
    if years & asked.years:
        others = set(_YEAR.findall(text)) - asked.years
        return Role("", weak=True, strength=2) if others else None
    if _BIRTH.search(clause):
        return None
    is_contrasted = bool(asked.years & set(_YEAR.findall(text)))
    if strength >= 2 or is_contrasted:
        return Role("other-year", weak=not (is_contrasted or strength >= 2), strength=0)
    return None
