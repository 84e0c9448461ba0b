"""Find the values in an English sentence that a question can leave blank and ask for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ragbed.builder.rules.english_names import Names
from ragbed.builder.rules.english_values import MONEY
from ragbed.builder.rules.english_words import DAY, MONTH, NOT_NAMES, ORGANISATION, PEOPLE, PERSON, TITLES, YEAR
from ragbed.builder.rules.facts import BLANK


class Blank(NamedTuple):
    """A value in a sentence, and the words that ask for it."""

    ask: str
    start: int
    end: int
    value: str

    def is_in(self, text: str) -> bool:
        """Check whether a text contains the value or, if the value is a name, one of its longer words."""
        is_number = self.value[0] in "£$€¥" or self.value[0].isdigit() or self.ask == "Which number"
        parts = [self.value] if is_number else [word for word in self.value.split() if len(word) > 3]
        return any(re.search(rf"(?<![\w.,]){re.escape(part)}(?![\w]|[.,]\d)", text) for part in parts)


_MIN_DIGITS = 3  # numbers with fewer digits are usually easy to guess
_LISTED = r"(?!,? (?:and|or|to) \d|[–-]|, \d{4}|s\b|/)"
_YEARS = re.compile(
    rf"(?:\b(?:[Ii]n|[Ss]ince|[Uu]ntil|[Ff]rom|[Aa]fter|[Bb]efore|(?:spring|summer|autumn|winter|end|beginning|start"
    rf"|charter|document) of|(?<!\d ){MONTH}),? (?:early |late |about )?)(?P<value>{YEAR}){_LISTED}"
)
_DAYS = re.compile(
    r"\b(?:[Oo]n|[Bb]y|to|until|[Ss]ince|[Bb]efore|[Aa]fter|(?:morning|afternoon|evening|night|day) of)"
    rf" (?P<value>{DAY})\b"
)
# Dates without a year. They are used only in sentences about the past.
_PAST_DAYS = re.compile(
    rf"\b(?:[Oo]n|until|[Ss]ince|[Bb]efore|[Aa]fter) "
    rf"(?P<value>\d{{1,2}} {MONTH}|{MONTH} \d{{1,2}})(?!,? \d|[–-]| and \d)\b"
)
_PAST = re.compile(
    r"(?<!\bbe )(?<!\bis )(?<!\bare )\b(?:was|were|had|[a-z]{2,}ed|began|broke|came|caught|died|fell|found|got|held"
    r"|left|lost|met|opened|sold|took|went|won)\b"
)
_PRESENT = re.compile(
    r"\b(?:is|are|has|have|starts?|opens?|returns?|begins?|closes?|ends?|runs?|retires?|leaves?|takes?)\b"
)
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+\.\d+|\d{5,}|\d{2,3})"
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_TEENS = "eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_NUMBER_WORDS = re.compile(
    rf"(?<![\w’'-])(?<! to )(?<! or )(?<!some )"
    rf"(?P<value>(?i:{_TEENS}|(?:{_TENS})(?:-(?:one|two|three|four|five|six|seven|eight"
    rf"|nine))?))(?= [a-z]|[,;.])(?! (?:to|or|times|hundred|thousand|million|years? (?:ago|later|old)|past"
    r"|o[’']clock|noon|midnight)\b)"
)
_COUNTS = re.compile(
    r"(?<![\w£$€¥.,–/:-])(?<!\d )(?<!some )(?<!Some )(?<!minus )(?<!No )(?<!No\. )"
    rf"(?P<value>{_NUMBER}(?: (?:million|billion|thousand))?)(?= [a-z]|[,;.](?!\d))"
    rf"(?! ?(?:per ?cent\b|%|[ap]\.?m\b|degrees?\b|o[’']clock|{MONTH})| (?:by|x) \d| years? (?:ago|later|old)\b|-)"
)
# Words before a number that is a label, a day or a time of day instead of a count.
_LABELS = re.compile(
    r"\b(?:line|route|bus|tram|train|flight|room|section|page|chapter|number|platform|gate|flat|volume|article|paragraph"
    r"|grade|class|level|channel|figure|table|size|step|day|week|phase|season|episode|part|series|edition|issue|act|type|model|version|code|junction|exit|road"
    r"|highway|unit|block|lot|item|ward|zone|plot|round|bay|lock|park|mile|berth|numbers|clause|lesson|hall|lane|stage|stand|under|aged|point"
    r"|rule|no|starting|beginning|ending|numbered|towards?|bearing|heading"
    r"|field|patch|site|sample|specimen|plate|cell|stop|pole|grave|pond|catalogue|entry|exhibit|inventory) $"
    r"|\b(?:pp?|nos?|vols?|figs?|ch|arts?|secs?|paras?|op|ext|tel|ref)\. $|\b(?:\d|one|two|three|out) (?:in|of) $",
    re.IGNORECASE,
)
_ROUGH = re.compile(r"(?:\b(?:some|say|circa|c\.|ca\.)|[~≈±]) ?$", re.IGNORECASE)  # precedes an approximate value
# A number that is the name of a product model: "replaced the 340, which".
_MODEL = re.compile(rf"\b[Tt]he {BLANK}(?:[,;.]| (?:was|is|are|has|had|were|costs?|weighs?|uses|can|and|or)\b)")
# The start of the counted noun after a number, as in "2 million people"; "a loss of 0.3 million" has no such noun.
_NOUN = re.compile(r" (?!(?:is|was|were|are|has|had|in|of|to|by|and|or|for|from|at|on|with|as|than|but)\b)[a-z]")
# Words that precede a scheduled time, e.g. "opens at" or "runs until".
_OPENS = re.compile(
    r"\b(?:opens?|closes?|starts?|ends?|begins?|leaves?|arrives?|departs?|runs?|goe?s?) (?:at|until|till|from) $"
)
_SHARES = re.compile(r"(?<![\w£$€¥.,–/:-])(?P<value>\d+(?:\.\d+)?(?:%| per ?cent\b))(?!age|-)")
_AMOUNTS = re.compile(rf"(?<![\w.,–-])(?P<value>{MONEY})(?![\w–-]|[.,]\d)")
# Final words of company names that can be mistaken for names of people, e.g. in "led by Corvane Capital".
_COMPANY = re.compile(
    r"\b(?:Capital|Ventures|Media|Studios?|Records|Design|Construction|Builders|Engineering|Consulting|Architects"
    r"|Associates|Solutions|Labs?|Materials|Renewables|Estates|Dairy|Creamery|Farms?|Lighting|Ferries|Water|Cement)$"
)
_PEOPLE = re.compile(
    rf"(?:\b(?:the|by|an?|of|and|to|after|for) (?:[A-Z][a-z]+(?:an|ish|ese|iss|ch|ic) )?(?P<role>{PEOPLE})"
    r"|\b(?:by|after|under))"
    rf" (?:{TITLES} )*(?P<value>{PERSON})(?! and [A-Z]|, {PERSON}(?:,| and)|['’]|-| [A-Z])"
)
_WORKS = re.compile(
    r"\b(?:book|novel|poem|film|opera|song|newspaper|magazine|journal|handbook|treatise|play|essay|article|painting"
    r"|album|paper|series|memoir|report|study|collection|called|titled|entitled|named|known as)"
    r"[,]? [“\"](?P<value>[A-Z][\w’'-]+(?: [\w’'-]+)+)[”\"]"
)
_VALUES = (
    ("Which date", _DAYS),
    ("Which date", _PAST_DAYS),
    ("Which year", _YEARS),
    ("Which percentage", _SHARES),
    ("Which number", _COUNTS),
    ("Which number", _NUMBER_WORDS),
    ("Which amount of money", _AMOUNTS),
    ("Whose name", _PEOPLE),
    ("Which title", _WORKS),
)


def find_values(sentence: str, names: Names) -> list[Blank]:
    """Return the values in a sentence that a question can ask for, starting with those that are hard to guess."""
    return sorted(_find_values(sentence, names), key=_guessability)


def _guessability(blank: Blank) -> int:
    """Return how easily a value can be guessed: 0 for exact numbers and names, 1 for years, 2 for small numbers."""
    if blank.ask == "Which year":
        return 1
    is_exact = re.search(r"\.|illion", blank.value) or len(re.findall(r"\d", blank.value)) >= _MIN_DIGITS
    return 0 if is_exact or blank.ask != "Which number" else 2


def _find_values(sentence: str, names: Names) -> Iterator[Blank]:
    for ask, pattern in _VALUES:
        for found in pattern.finditer(sentence):
            if pattern is _PEOPLE and not _is_person(found, names):
                continue
            if pattern is _PAST_DAYS and not _is_past(sentence, found):
                continue
            before, after = sentence[: found.start("value")], sentence[found.end("value") :]
            if _ROUGH.search(before):
                continue
            if pattern is _COUNTS and (_is_label(before, found["value"]) or _MODEL.search(before + BLANK + after)):
                continue
            if pattern is _COUNTS and found["value"].endswith("illion") and not _NOUN.match(after):
                continue
            yield Blank(ask, *found.span("value"), found["value"])


def _is_past(sentence: str, found: re.Match[str]) -> bool:
    """Check that the clause with a date is about the past."""
    start = max(sentence.rfind(mark, 0, found.start()) for mark in ",;") + 1
    after = re.search("[,;]", sentence[found.end() :])
    end = found.end() + after.start() if after else len(sentence)
    if re.match(r"\s*$", sentence[start : found.start()]) and after:  # e.g. "On 29 May, a rockslide took out"
        end = len(sentence)
    clause = sentence[start:end]
    return _PAST.search(clause) is not None and _PRESENT.search(clause) is None


def _is_person(found: re.Match[str], names: Names) -> bool:
    """Check that a name belongs to a person, based on a role or title, or on how the text uses the name."""
    has_role = re.match(r"(?:[Bb]y|[Aa]fter|[Uu]nder) ", found[0]) is None or found["role"] is not None
    is_titled = re.match(rf"{TITLES} ", found["value"]) is not None
    if _COMPANY.search(found["value"]) or ORGANISATION.search(found["value"]):
        return False
    return found["value"] in names.names and (has_role or is_titled or found["value"] in names.persons)


def _is_label(before: str, number: str) -> bool:
    """Check whether a number is a day of the month, a time of day, or part of a name such as "Route 66"."""
    named = re.search(r"(?:^|\W)([A-Z][\w’'-]*) $", before)
    if named and named[1] not in NOT_NAMES and named[1] != "Of":
        return True
    is_time = re.search(r"\b(?:at|by|from|until|till|before|after|instead of|[Tt]he) $", before) and re.fullmatch(
        r"\d{1,2}\.[0-5]\d", number
    )
    is_hour = len(number) < 3 and _OPENS.search(before)
    is_day = len(number) < 3 and re.search(rf"{MONTH} $", before)
    return bool(is_time or is_hour or is_day) or _LABELS.search(before) is not None


# Larger units in values with two units, e.g. "feet" in "6 feet 2 inches".
_COMPOUND = "years?|months?|weeks?|days?|hours?|minutes?|feet|foot|pounds?|stone|degrees?"


_CHANGE = re.compile(
    r"\b(?:rise[ns]?|rose|f[ae]lls?|fallen|gr[eo]wn?|grows|cut|climb\w*|increas\w+|decreas\w+|drop\w*|goes|went|gone|rais\w+|chang\w+"
    r"|mov\w+|slip\w*|slid|shr[aiu]nk\w*|jump\w*|reduc\w+|exten\w+|expand\w*|lower\w*|improv\w+|declin\w+|up|down)\b"
)


def is_range(before: str, after: str) -> bool:
    """Check whether a value is part of a range, a list or a duration."""
    is_last = re.search(
        r"\d%?(?: \w+){0,2} (?:to|and|or) $|\d (?:by|x) $|\d, $|[–-]$|\bbetween (?:[^,;]*\d[^,;]* and )?$"
        rf"|\d (?:{_COMPOUND}),? (?:and )?$|\b(?:past|quarter to|minutes to) $",
        before,
    )
    is_first = re.match(
        rf" (?:to|or) \d| and \d[\d.,]*(?: [a-z]+)?(?:[,.;]|$)| and (?:the )?\d+(?:st|nd|rd|th)?(?: of)? {MONTH}"
        rf"|(?:, \d{{1,2}})+,? (?:and|or) \d|[–-]| (?:{_COMPOUND}),? (?:and )?\d",
        after,
    )
    is_span = (
        re.search(r"\bfrom $", before) and re.match(r"(?: [a-z]+)? to [£$€¥]?\d", after) and not _CHANGE.search(before)
    )
    return is_last is not None or is_first is not None or bool(is_span)
