"""Find roles, superlatives and quotations in English texts and write questions about them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.builder.rules.english_clauses import Clause
from ragbed.builder.rules.english_names import Names, strip
from ragbed.builder.rules.english_words import (
    DAY,
    MONTH,
    NAME,
    ORGANISATION,
    PEOPLE,
    PERSON,
    TITLES,
    YEAR,
    is_distinctive,
)
from ragbed.builder.rules.facts import Fact

_ROLE_NOUN = (
    r"(?:director|president|chairman|chairwoman|chair|chief executive|chief executive officer|head|leader|manager|coach"
    r"|mayor|conductor|editor|principal|captain|headteacher|headmaster|rector|curator|governor|abbot|owner"
    r"|chief engineer|chief financial officer|dean)"
)
_RANK = "(?:managing|artistic|musical|principal|general|executive|head|scientific|medical|deputy)"
_ROLE = rf"(?P<role>(?:{_RANK} )?{_ROLE_NOUN})"
_WHO = rf"(?:{TITLES} )*(?P<who>{PERSON})"
_ROLES = (
    rf"^[Tt]he {_ROLE} of (?P<body>the [a-z]+|(?:the )?{NAME}) is (?:the {PEOPLE} )?{_WHO}(?=[,;.]|$)",
    rf"(?:^|[\"”] said |[.] )[Tt]he {_ROLE} of (?P<body>(?:the )?{NAME}), {_WHO},",
    rf"^{_WHO} is the {_ROLE} of (?P<body>(?:the )?{NAME})(?=[,;.]|$)",
    rf"(?:^|[\"”] said ){_WHO}, (?:the )?{_ROLE} of (?P<body>(?:the )?{NAME})(?=[,.])",
)


_SINCE = (
    rf"^{_WHO} has been (?:the )?{_ROLE} of (?P<body>(?:the )?{NAME}) "
    rf"since (?P<when>{DAY}|{MONTH} {YEAR}|{YEAR})(?=[,;.]|$)"
)


def find_roles(sentence: str, names: Names, before: str) -> Iterator[Fact]:
    """Ask who has a role, based on a sentence such as "The director of the museum is …"."""
    for pattern in _ROLES:
        found = re.search(pattern, sentence)
        if found is None:
            continue
        body = found["body"]
        if noun := re.fullmatch("the ([a-z]+)", body):
            body = names.resolve(noun[1], before)
        resolved = names.display(strip(body)) if body else ""
        if found["role"] == "mayor" and is_distinctive(body):
            resolved = body
        if resolved and not ORGANISATION.search(found["who"]):
            yield Fact(f"Who is the {found['role']} of {resolved}?", found["who"], sentence)
    found = re.search(_SINCE, sentence)
    resolved = names.display(strip(found["body"])) if found else ""
    if found and resolved:
        asked = f"Who has been the {found['role']} of {resolved} since {found['when']}?"
        yield Fact(asked, found["who"], sentence)


def find_own_roles(sentence: str, previous: Clause | None) -> Iterator[Fact]:
    """Ask who has a role in the organisation that the previous sentence is about, as in "Its director, …"."""
    found = re.match(rf"(?:According to its|Its) {_ROLE}(?:,| is)(?: the {PEOPLE})? {_WHO}(?=[,;.]|$)", sentence)
    if found is None or previous is None or previous.is_person:
        return
    is_body = previous.is_thing or ORGANISATION.search(previous.name) is not None
    if is_body and " of " not in previous.subject.replace(previous.name, ""):
        yield Fact(f"Who is the {found['role']} of {previous.subject}?", found["who"], sentence)


_SUPERLATIVE = re.compile(
    rf"^[Tt]he (?P<what>(?:largest|oldest|tallest|longest|highest|deepest|biggest|smallest|steepest)"
    rf"(?: [a-z]+){{1,2}}) (?P<where>in|on|of) (?P<body>the [a-z]+"
    rf"|(?:the )?{NAME}) is (?:the )?(?:[a-z]+ ){{0,2}}(?P<name>{NAME})(?=[,;.]|$| with \d)"
)


def find_superlatives(sentence: str, names: Names, before: str) -> Iterator[Fact]:
    """Ask for the thing that a superlative describes, as in "The oldest bridge in … is …"."""
    found = _SUPERLATIVE.match(sentence)
    if found is None:
        return
    body = found["body"]
    if noun := re.fullmatch("the ([a-z]+)", body):
        body = names.resolve(noun[1], before)
    resolved = names.display(strip(body)) if body else ""
    if resolved and is_distinctive(found["name"]):
        yield Fact(f"What is the {found['what']} {found['where']} {resolved}?", found["name"], sentence)


_QUOTED = re.compile(
    rf"[\"“](?P<words>[A-Z0-9][^\"“”()\[\]]+?),?[\"”],? said (?:{TITLES} )*"
    rf"(?:(?:the |its |their |his |her )?(?:(?!for\b|of\b|at\b|from\b|to\b|in\b)[a-z-]+ ){{1,3}})?"
    rf"(?P<who>{PERSON})(?=,|\.$|\. |$| (?:at|on|in|of|who|after)\b)"
)
_MIN_WORDS = 6  # minimum number of words in a quotation; shorter ones are rarely unique


def find_quotations(sentence: str, names: Names) -> Iterator[Fact]:
    """Ask for the speaker of a quotation that names its subject."""
    found = _QUOTED.search(sentence)
    if found is None or len(found["words"].split()) < _MIN_WORDS or found["who"] not in names.persons:
        return
    inner = re.findall(rf"(?<=[a-z,] )(?:the )?({NAME})", found["words"])
    if any(is_distinctive(name) and " " in name and names.display(strip(name)) for name in inner):
        words = " ".join(found["words"].split()).rstrip(",.")
        yield Fact(f"Who said “{words}”?", found["who"], sentence)
