"""Find measurements and counts in English texts and write questions about them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.builder.rules.english_clauses import Clause
from ragbed.builder.rules.english_names import Names
from ragbed.builder.rules.english_words import NAME, NUMBER, ORGANISATION, WORKS, YEAR
from ragbed.builder.rules.facts import Fact

# Past forms of verbs, and the base forms that follow "did" in questions.
_BASE = {
    "produced": "produce", "sold": "sell", "carried": "carry", "had": "have", "employed": "employ", "handled": "handle",
    "lent": "lend", "delivered": "deliver", "transported": "transport", "exported": "export", "recorded": "record",
    "received": "receive",
}  # fmt: skip
_PRESENT = {
    "holds": "hold", "shows": "show", "produces": "produce", "contains": "contain", "carries": "carry",
    "serves": "serve", "sells": "sell", "seats": "seat", "has": "have", "employs": "employ",
}  # fmt: skip
# Words that limit a statement to a time or a source that the question would have to name.
_LIMITED = re.compile(
    r"\b(?:according|census|at the end of|as of|at the time|at its peak|in [12]\d{3}|by [12]\d{3}|this year|originally"
    r"|initially|at first|in the beginning|until|since|during|between|from [12]\d{3}|average|temporar\w+|per cent"
    r"|percent|including|once|when)\b",
    re.IGNORECASE,
)
_LASTING = re.compile(r"\b(?:walk|march|race|marathon|festival|regatta|tour)\b", re.IGNORECASE)
_WORK_VERBS = (
    "published", "released", "written", "directed", "painted", "composed", "illustrated", "edited", "produced",
    "launched", "first published", "created", "adopted", "unveiled", "developed", "made",
)  # fmt: skip


def fits(clause: Clause, what: str) -> bool:
    """Check that a clause's subject is specific enough for a question with the given verb or noun."""
    if what in _WORK_VERBS:
        return any(f" {work} " in f" {clause.subject} " for work in WORKS)
    is_known = clause.is_thing or ORGANISATION.search(clause.name) is not None
    return is_known or what in ("founded", "established", "set up", "employees", "members", "people", "students")


_UNIT = (
    r"(?:square |cubic )?(?:kilo|centi|milli)?(?:metres?|meters?|miles?|feet|hectares?|acres?|grams?|tonnes?"
    r"|tons?|pounds?|litres?|hours?|minutes?|seconds?|degrees Celsius|megawatts?|megahertz)"
)
_LENGTH = r"(?:kilo|centi|milli)?(?:metres?|meters?|miles?|feet)"
MONEY = (
    r"(?:[$€£¥] ?\d(?:[\d,.]*\d)?(?:(?:m|bn|k)\b| (?:million|billion))?|\d[\d,.]*(?: (?:thousand|million"
    r"|billion))? (?:US )?(?:dollars|euros|pounds|crowns|francs|pesos"
    r"|marks|rand|dinars|guilders|thalers|yuan|yen|rupees|kroner|zlotys))"
)
_SIZED = "diameter|depth|length|height|wingspan|displacement|gradient"
_STOP = r"(?=[,;.](?!\d)|$| (?:and|but|with|from|at|in|on|which|making)\b)"
# Patterns for values, and the questions that ask for them; {S} is the subject.
_MEASURES = (
    (rf" is (?P<value>{NUMBER} {_LENGTH}) (?P<kind>long|high|tall|wide|deep|thick)\b", "How {kind} is {S}"),
    (rf" was (?P<value>{NUMBER} {_LENGTH}) (?P<kind>long|high|tall|wide|deep|thick)\b", "How {kind} was {S}"),
    (rf" weighs (?P<value>{NUMBER} {_UNIT}){_STOP}", "How much does {S} weigh"),
    (
        rf" covers (?:an area of )?(?P<value>{NUMBER} (?:square {_LENGTH}|hectares|acres)){_STOP}",
        "What area does {S} cover",
    ),
    (
        rf" has an? (?P<kind>(?:maximum |total )?(?:{_SIZED})) of (?P<value>{NUMBER} {_UNIT}){_STOP}",
        "What is the {kind} of {S}",
    ),
    (rf" has an area of (?P<value>{NUMBER} (?:square {_LENGTH}|hectares|acres)){_STOP}", "What is the area of {S}"),
    (rf" lies (?P<value>{NUMBER} {_LENGTH}) above sea level", "How high above sea level is {S}"),
    (rf" (?:stands|lies|is) at an altitude of (?P<value>{NUMBER} {_LENGTH}){_STOP}", "At what altitude is {S} located"),
    (rf" lies (?P<value>{NUMBER} {_LENGTH}) (?P<kind>off the coast of {NAME})", "How far {kind} is {S} located"),
    (rf" cost (?P<value>{MONEY})(?=[.;,](?!\d)|$)", "How much did {S} cost"),
    (rf" is worth (?P<value>{MONEY})", "How much is {S} worth"),
)


def find_measures(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:  # noqa: ARG001
    """Ask for a measurement, e.g. a length, height or weight."""
    if clause.time or clause.is_person or not clause.is_thing or _LIMITED.search(_part_of(clause.rest)):
        return
    for pattern, ask in _MEASURES:
        if found := re.match(pattern, clause.rest):
            kind = found.groupdict().get("kind", "")
            if kind == "long" and _LASTING.search(clause.subject):
                continue  # a "How long" question could be read as asking for a duration
            question = ask.replace("{kind}", kind).replace("{S}", clause.subject)
            yield Fact(f"{question}?", found["value"], sentence)


def _part_of(rest: str) -> str:
    """Return the part of a clause before its first comma or semicolon."""
    return re.split(r"[,;](?!\d)", rest)[0]


_NUMBER_WORD = "two|three|four|five|six|seven|eight|nine|ten"
_HAS = (
    rf" (?P<verb>{'|'.join(_PRESENT)}) (?P<value>{NUMBER}) (?P<what>[a-z-]+(?: [a-z]+)??)"
    r"(?P<per> (?:a|per) (?:day|week|month|year))?"
    rf"(?=[,;.](?!\d)|$| (?:and|with|at|who|from|in (?:the|{_NUMBER_WORD}) )\b)"
)
_DID = (
    rf" (?P<verb>{'|'.join(_BASE)}) (?P<value>{NUMBER}) (?P<what>[a-z]+(?: of [a-z]+)?)(?P<after> in {YEAR})?"
    r"(?=[,;.](?!\d)|$| and\b)"
)


def find_counts(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:  # noqa: ARG001
    """Ask for a count, based on a clause such as "has 14 stations" or "carried 94,000 passengers in 2019"."""
    does, did = re.match(_HAS, clause.rest), re.match(_DID, clause.rest)
    found = does or did
    if found is None or clause.is_person or not _is_countable(found["what"]) or not fits(clause, found["what"]):
        return
    if does and not clause.time and not _LIMITED.search(_part_of(clause.rest)):
        asked = f"How many {does['what']} does {clause.subject} {_PRESENT[does['verb']]}{does['per'] or ''}?"
        yield Fact(asked, does["value"], sentence)
    time = ((did["after"] or "").strip() or clause.time) if did else ""
    if did and time:
        yield Fact(f"How many {did['what']} did {clause.subject} {_BASE[did['verb']]} {time}?", did["value"], sentence)


_NO_COUNTS = re.compile(
    rf"^(?:{_UNIT}|days|weeks|months|years|times|points|percent|others|places|dollars|euros|crowns|francs|goals|wins"
    r"|victories|titles|parts|levels|types|kinds|sorts|figures|hours)\b|\b(?:is|was|has|of the)\b"
)


def _is_countable(what: str) -> bool:
    """Check that a noun is plural and is not a unit."""
    last = what.split(" of ", maxsplit=1)[0].rsplit(maxsplit=1)[-1]
    return (last.endswith("s") or last in ("people", "children", "women", "men")) and not _NO_COUNTS.search(what)
