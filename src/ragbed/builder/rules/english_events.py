"""Write "when" questions based on sentences with a common verb, e.g. "In 1884 the Alder Society bought the mill"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.builder.rules.english_blanks import is_clear
from ragbed.builder.rules.english_clauses import Clause
from ragbed.builder.rules.english_names import Names
from ragbed.builder.rules.english_values import fits
from ragbed.builder.rules.english_words import WHEN
from ragbed.builder.rules.facts import Fact

_REGULAR = (
    "abandon abolish accept acquire add adopt announce appoint approve arrive attack attract award ban bequeath"
    " collapse collect commission complete connect construct convert create damage declare defeat demolish depart"
    " describe design destroy develop discover dissolve donate double elect emigrate enter erect establish excavate"
    " exhibit expand export extend finance flood form found fund gain"
    " grant hire host identify inaugurate increase inherit install introduce"
    " invent invite issue join land launch lease license marry merge move name obtain occupy offer open order organise"
    " paint patent perform plant present produce propose publish purchase receive recognise record redesign reduce"
    " register reject release relocate rename renovate reopen replace rescue resign restore retire return reveal scrap"
    " seize settle sign stage start survey survive switch transfer travel unite unveil upgrade vote employ earn reach"
    " raise pass close graduate translate tour test lend"
)
_IRREGULAR = (
    "became become began begin bought buy brought bring built build came come fell fall found find gave give grew grow"
    " held hold laid lay led lead left leave lost lose made make met meet paid pay ran run rebuilt rebuild rose rise"
    " sank sink sent send sold sell split split stole steal struck strike taught teach took take tore tear went go"
    " withdrew withdraw won win wrote write set set shut shut"
)
_FINAL_DOUBLED = frozenset({"ban", "scrap", "transfer", "travel"})


def _past(base: str) -> str:
    if base in _FINAL_DOUBLED:
        return f"{base}{base[-1]}ed"
    if base.endswith("e"):
        return f"{base}d"
    return f"{base[:-1]}ied" if base[-1] == "y" and base[-2] not in "aeiou" else f"{base}ed"


_PAIRS = _IRREGULAR.split()
_BASES = {_past(base): base for base in _REGULAR.split()} | dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True))
_BASES["founded"] = "found"
_VERB = re.compile(
    r" (?:(?P<be>was|were) (?P<passive>[a-z]+(?:ed|en|wn|ught|ilt|ld|aid|nd|de|nk|ut|un|et)\b)|(?P<past>[a-z]+))"
)
# Words that start another clause, which the question omits.
_NEXT = re.compile(
    r"(?:,? (?:and|but) (?:was|were|had|has|it|he|she|they|[a-z]+(?:ed|ly)\b|" + "|".join(_PAIRS[::2]) + r"\b)"
    r"|[,;] (?:where|which|who|when|while|but|and|with|after|before|although|because|becoming|making|leaving|ending"
    r"|replacing|thus|a|an|the)\b| (?:when|while|because|although|where|after|before|until) |;).*"
)


def find_events(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:
    """Ask for the date of an event stated in a clause with a known subject."""
    verb = _VERB.match(clause.rest)
    base = _BASES.get(verb["past"] or "") if verb else None
    if verb is None or not clause.is_first or (base is None) == (verb["be"] is None):
        return
    when, rest = _split_time(clause, clause.rest[verb.end() :])
    is_short = len(rest.split()) + (verb["be"] is not None) < 2 or re.fullmatch(r" an? [a-z]+", rest) is not None
    if not when or is_short or not _is_simple(rest) or not is_clear(f"{clause.subject}{rest}.", names, ""):
        return
    if verb["be"] and not fits(clause, verb["passive"]):
        return
    asked = "On what date" if when.startswith("on ") else "In what year"
    if not re.fullmatch(r"on .*|in \d{4}", when):
        asked = "In which month and year"
    verbs = f"{verb['be']} {clause.subject} {verb['passive']}" if verb["be"] else f"did {clause.subject} {base}"
    yield Fact(f"{asked} {verbs}{rest}?", when.split(" ", 1)[1], sentence)


def _split_time(clause: Clause, rest: str) -> tuple[str, str]:
    """Return a clause's only date and the rest of its first statement, or two empty strings if the date is unclear."""
    found = re.search(rf" {WHEN}(?=[,;. ]|$)", rest)
    if (found is None) == (not clause.time) or (found and _NEXT.search(rest[: found.start()])):
        return "", ""  # there is no date, there are two dates, or the date may belong to another statement
    when = found["when"] if found else clause.time
    rest = rest[: found.start()] + rest[found.end() :] if found else rest
    return when, _NEXT.sub("", rest).rstrip(" .,")


def _is_simple(rest: str) -> bool:
    """Check that the words after a verb contain no other verb, date or comma."""
    others = rf"\b(?:was|were|had|[12]\d{{3}}|{'|'.join(_PAIRS[::2])}|times?)\b"
    return "," not in rest and re.search(others, rest) is None and not any(word in _BASES for word in rest.split())
