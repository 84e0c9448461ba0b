"""Read the lexicons of phrases that show a mention's role in a response (`cues/en.toml` and `cues/zh.toml`)."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from ragbed.schema import Lang
from ragbed.scoring.robust.patterns import alternatives

# The statuses of a mention that is not given as the answer, in the order in which they are checked.
STATUSES = ("compared", "planned", "rumoured", "related", "doubted", "believed")
RANKS = ("first", "second", "third", "fourth", "fifth", "last")


# Pattern for the characters that are allowed between a Chinese cue and the mention.
_GAP = "[了着过]?[^,。;的是为由]{0,3}"
_GAPS = {"rumoured": "[^,。;]{0,14}", "doubted": "[^,。;]{0,14}"}


class EnglishCues(NamedTuple):
    """The English lexicon: the status of each phrase before or after a mention, and word lists.

    Attributes:
        heads: The first words of the phrases after a mention, to skip all other positions.
        tails: The last words of the phrases before a mention.
    """

    before: dict[str, str]
    after: dict[str, str]
    bounds_before: frozenset[str]
    bounds_after: frozenset[str]
    weak: frozenset[str]
    kin: frozenset[str]
    ranks: dict[str, int]
    rank_verbs: frozenset[str]
    rank_nouns: frozenset[str]
    reversed: frozenset[str]
    skipped: frozenset[str]
    families: dict[str, frozenset[str]]
    heads: frozenset[str]
    tails: frozenset[str]


class ChineseCues(NamedTuple):
    """The Chinese lexicon: patterns before and after a mention, with a group for each status, and word lists."""

    before: re.Pattern[str]
    after: re.Pattern[str]
    between: dict[str, re.Pattern[str]]
    bounds_before: re.Pattern[str]
    bounds_after: re.Pattern[str]
    weak: re.Pattern[str]
    kin: str
    ranks: dict[str, int]
    rank_verbs: str
    reversed: tuple[str, ...]
    families: tuple[tuple[str, ...], ...]


def _read(lang: Lang) -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "cues" / f"{lang}.toml").read_text("utf-8"))


@cache
def english() -> EnglishCues:
    """Return the English lexicon."""
    data = _read("en")
    before = {phrase: status for status in STATUSES for phrase in _phrases(data[status]["before"])}
    after = {phrase: status for status in STATUSES for phrase in _phrases(data[status].get("after", ""))}
    families: dict[str, frozenset[str]] = {}
    for line in data["question"]["families"].strip().splitlines():
        family = frozenset(line.split())
        families |= {word: families.get(word, frozenset()) | family for word in family}
    return EnglishCues(
        before=before,
        after=after,
        bounds_before=frozenset(_phrases(data["bounded"]["before"])),
        bounds_after=frozenset(_phrases(data["bounded"]["after"])),
        weak=frozenset(_phrases(data["related"]["weak_before"])),
        kin=frozenset(data["related"]["kin"].split()),
        ranks={word: RANKS.index(rank) for rank in RANKS for word in data["rank"][rank].split()},
        rank_verbs=frozenset(data["rank"]["verbs"].split()),
        rank_nouns=frozenset(data["rank"]["before"].split()),
        reversed=frozenset(data["question"]["reversed"].split()),
        skipped=frozenset(data["question"]["skipped"].split()),
        families=families,
        heads=frozenset(phrase.split()[0] for phrase in after),
        tails=frozenset(phrase.split()[-1] for phrase in before),
    )


def _phrases(text: str) -> list[str]:
    return [phrase.strip() for line in text.strip().splitlines() for phrase in line.split("|") if phrase.strip()]


@cache
def chinese() -> ChineseCues:
    """Return the Chinese lexicon."""
    data = _read("zh")
    kin = _any(data["related"]["kin"])
    between = {}
    for line in data["compared"]["between"].strip().splitlines():
        first, second = line.split("|")
        between[first] = re.compile(rf"[^,。;]{{0,8}}?{_any(second)}")
    before = {status: data[status]["before"] for status in STATUSES if status in data}
    weak = [word for word in before["related"].split() if len(word) == 1]
    before["related"] = " ".join(word for word in before["related"].split() if len(word) > 1)
    return ChineseCues(
        before=_by_status({status: before[status] for status in STATUSES if status in data}, gaps=True),
        after=_by_status({status: data[status]["after"] for status in STATUSES if status in data}, gaps=False),
        between=between,
        bounds_before=re.compile(rf"{_any(data['bounded']['before'])}了?$"),
        bounds_after=re.compile(_any(data["bounded"]["after"])),
        weak=re.compile(f"[{''.join(weak)}]$"),
        kin=kin,
        ranks={word: RANKS.index(rank) for rank in RANKS for word in data["rank"][rank].split()},
        rank_verbs=_any(data["rank"]["verbs"]),
        reversed=tuple(data["question"]["reversed"].split()),
        families=tuple(tuple(line.split()) for line in data["question"]["families"].strip().splitlines()),
    )


def _by_status(phrases: dict[str, str], *, gaps: bool) -> re.Pattern[str]:
    """Return a pattern with a group for each status; the lookahead rejects most positions quickly."""
    first = "".join({phrase[0] for text in phrases.values() for phrase in text.split()})
    groups = (
        f"(?P<{status}>{_any(text)})" + (f"{_GAPS.get(status, _GAP)}$" if gaps else "")
        for status, text in phrases.items()
    )
    return re.compile(f"(?=[{first}])(?:{'|'.join(groups)})")


def _any(text: str) -> str:
    return alternatives(sorted(text.split(), key=len, reverse=True))
