"""Find facts in English texts and write questions about them.

A question keeps the words of its sentence. A clause is used only if its subject is a name that is clear on its own, or
if "the bridge" or "it" can refer to nothing but one such name. When in doubt, no question is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.builder.rules.english_clauses import Clause, find_clauses
from ragbed.builder.rules.english_names import Names, strip
from ragbed.builder.rules.english_words import (
    CAP,
    COMPANIES,
    DAY,
    DEPENDENT,
    MONTH,
    NAME,
    NUMBER,
    ORGANISATION,
    PEOPLE,
    PERSON,
    TITLES,
    UNSURE,
    WHEN,
    WORKS,
    YEAR,
    is_distinctive,
)
from ragbed.builder.rules.facts import Fact

# Events that happen to something only once, so that a question need not give the year.
_ONCE = (
    "founded|established|built|opened|completed|inaugurated|published|released|launched|designed|invented|discovered"
    "|created|composed|painted|written|demolished|dissolved|electrified|born|introduced|patented|signed|consecrated"
    "|constructed|set up|first described|first mentioned|first published|officially opened|shut down|abolished"
    "|formed|adopted|unveiled|reopened|closed|torn down|started|described"
)
_ONCE_ACTIVE = {"opened": "open", "closed": "close", "died": "die", "sank": "sink", "collapsed": "collapse"}
# Past forms and the base forms that questions with "did" need.
_BASE = {
    "produced": "produce", "sold": "sell", "carried": "carry", "had": "have", "employed": "employ", "handled": "handle",
    "lent": "lend", "delivered": "deliver", "transported": "transport", "exported": "export", "recorded": "record",
    "received": "receive",
}  # fmt: skip
_PRESENT = {
    "holds": "hold", "shows": "show", "produces": "produce", "contains": "contain", "carries": "carry",
    "serves": "serve", "sells": "sell", "seats": "seat", "has": "have", "employs": "employ",
}  # fmt: skip
_OBJECT = {"won": "win", "received": "receive", "acquired": "acquire", "bought": "buy", "founded": "found"}
_PRIZES = re.compile(r"\b(?:Prize|Award|Medal|Cup|Trophy|Lion|Bear|Quill|Order)\b")
# What may follow a complete statement.
_END = (
    r"(?=[,;.](?!\d)|$| (?:and|but|with|from|after|for|by|when|while|where|near|as|who|which|because|since|under"
    r"|instead|during|at|following|in|on|to)\b(?! (?:in |on )?[12]\d{3}))"
)
# Words that limit a statement to a time or a source that the question would have to name.
_LIMITED = re.compile(
    r"\b(?:according|census|at the end of|as of|at the time|at its peak|in [12]\d{3}|by [12]\d{3}|this year|originally"
    r"|initially|at first|in the beginning|until|since|during|between|from [12]\d{3}|average|temporar\w+|per cent"
    r"|percent|including|once|when)\b",
    re.IGNORECASE,
)


def find_english_facts(title: str, text: str) -> Iterator[Fact]:
    """Yield the facts of a text, sentence by sentence."""
    names = Names(title, text)
    for sentence, before, previous, clauses in find_clauses(names):
        found = [*_roles(sentence, names, before), *_own_roles(sentence, previous, names)]
        found += [*_superlatives(sentence, names, before), *_quotations(sentence, names)]
        found += [fact for clause in clauses for find in _FINDERS for fact in find(clause, sentence, names)]
        yield from (fact for fact in found if _is_certain(fact, sentence))


def _is_certain(fact: Fact, sentence: str) -> bool:
    """Check that nothing before the end of the answer's clause makes the statement uncertain."""
    end = sentence.find(fact.answer) + len(fact.answer)
    clause = re.split(r"[,;](?! ?\d)", sentence[end:])[0]
    asked = re.sub(r"“[^”]*”", "", fact.question)
    return UNSURE.search(sentence[:end] + clause) is None and DEPENDENT.search(asked) is None


def _ask_when(found: re.Match[str]) -> tuple[str, str]:
    if found["day"]:
        return "On what date", found["day"]
    if found["month"]:
        return "In which month and year", found["month"]
    return "In what year", found["year"]


def _dates(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:
    """Ask when something happened for the only time: "was opened by … on 1 June 2024", "died in 2004"."""
    other = rf"(?!on \d|in [12]|in {MONTH}|by |who\b|which\b)"
    between = rf"(?: (?:by|in|at|as|of|on the)(?: {other}[\w’'-]+){{1,7}}?)?"
    passive = re.match(rf" (?P<be>was|were) (?P<verb>{_ONCE}){between} {WHEN}{_END}", clause.rest)
    active = re.match(rf" (?P<verb>{'|'.join(_ONCE_ACTIVE)}){between} {WHEN}{_END}", clause.rest)
    found = passive or active
    if found is None or clause.time or _repeats(found["verb"], clause, names):
        return
    asked, answer = _ask_when(found)
    if found["verb"] == "born" or found["verb"] == "died":
        if not clause.is_person:
            return
    elif clause.is_person or not _fits(clause, found["verb"]):
        return
    if passive:
        yield Fact(f"{asked} {passive['be']} {clause.subject} {passive['verb']}?", answer, sentence)
    else:
        yield Fact(f"{asked} did {clause.subject} {_ONCE_ACTIVE[found['verb']]}?", answer, sentence)


_WORK_VERBS = (
    "published", "released", "written", "directed", "painted", "composed", "illustrated", "edited", "produced",
    "launched", "first published", "created", "adopted", "unveiled", "developed", "made",
)  # fmt: skip


def _fits(clause: Clause, what: str) -> bool:
    """Check that a question need not say what kind of thing its subject is."""
    if what in _WORK_VERBS:
        return any(f" {work} " in f" {clause.subject} " for work in WORKS)
    is_known = clause.is_thing or ORGANISATION.search(clause.name) is not None
    return is_known or what in ("founded", "established", "set up", "employees", "members", "people", "students")


def _repeats(verb: str, clause: Clause, names: Names) -> bool:
    """Check whether the text gives another time of an event, e.g. of a second opening or a first building."""
    stem = verb.rsplit(maxsplit=1)[-1].removeprefix("re")
    same = re.findall(rf"\b(?:re-?)?{stem} (?:[\w’'-]+ ){{0,6}}?(?:in|on) (?:\d|{MONTH})", names.full)
    own = [sentence for sentence in names.sentences if re.search(rf"\b(?:re-?|first ){stem}\b", sentence)]
    again = verb in ("opened", "closed", "built", "published") and any(clause.name in sentence for sentence in own)
    is_other = len(same) > 1 and verb in ("signed", "started", "described", "introduced", "released", "published")
    return again or is_other


def _years_of_life(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:
    """Ask when somebody was born and died: "Beatrix Lowe (1861–1938) was"."""
    found = re.search(rf"{re.escape(clause.name)} \(([12]\d{{3}})[–-]([12]\d{{3}})\)", sentence)
    if found and clause.is_person and clause.is_first:
        for asked, verb, year in (("was", "born", found[1]), ("did", "die", found[2])):
            if not re.search(rf"\b(?:{verb}|died)\b[^.]*{year}", names.full.replace(found[0], "")):
                yield Fact(f"In what year {asked} {clause.name} {verb}?", year, sentence)


def _fronted(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:
    """Ask for the time of an event with two names: "In 2022 Corvane Logistics received the Green Wheel Award"."""
    after = re.match(rf" (?P<verb>{'|'.join(_OBJECT)}) (?P<what>[^,;]*?) (?P<when>on {DAY}|in {MONTH} {YEAR}|in {YEAR}){_END}", clause.rest)  # fmt: skip
    fronted = re.match(rf" (?P<verb>{'|'.join(_OBJECT)}) (?P<what>[^,;.]+?)(?= for\b|[,;.]|$)", clause.rest)
    found = after if after and not clause.time else fronted
    time = found["when"] if found is after and after else clause.time
    if found is None or not time or not clause.is_first:
        return
    name = re.fullmatch(rf"(?:the |an? )?(?:(?!from|of|with|by|in|for|and|to)[A-Z]?[a-z]+ ){{0,3}}?(?P<name>{NAME})", found["what"])
    if name is None or not is_distinctive(name["name"]) or name["name"] not in names.names or re.search(r"\d", found["what"]):
        return
    day, year = re.fullmatch(f"on {DAY}", time), re.fullmatch(f"in {YEAR}", time)
    asked = "On what date" if day else "In what year" if year else "In which month and year"
    what, is_prize = found["what"], _PRIZES.search(name["name"]) is not None
    if is_prize != (found["verb"] in ("won", "received")) or re.search(r"\btime\b", sentence):
        return
    if not is_prize and not names.kind_of(name["name"]) and not ORGANISATION.search(name["name"]):
        return
    yield Fact(f"{asked} did {clause.subject} {_OBJECT[found['verb']]} {what}?", time.split(" ", 1)[1], sentence)


_MADE = (
    "founded|established|built|designed|invented|discovered|created|composed|painted|written|directed|developed"
    "|constructed|made|operated|published|headed|led|owned|managed|organised|run|chaired|first described|drafted"
    "|inaugurated|donated|illustrated|produced|edited|carved|manufactured"
)


def _agents(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:
    """Ask who did something: "was designed in 1904 by the architect Ingrid Solberg"."""
    time = rf"(?:{WHEN.replace('?P<', '?:').replace('?:when>', '?:').replace('?:day>', '?:').replace('?:month>', '?:').replace('?:year>', '?:')})"
    found = re.match(
        rf" (?P<be>is|was|were) (?P<verb>{_MADE})(?: {time})?(?: in {NAME})? by (?:the |an? )?"
        rf"(?P<role>(?:[A-Z][a-z]+(?:an|ish|ese|iss|ch|ic|sh) )?(?:(?!and\b|or\b)[a-z-]+ ){{0,3}}?)(?:{TITLES} )*(?P<the>the )?(?P<agent>{NAME})"
        rf"(?=[.;]|$|,(?! (?:the |and )?{CAP}| and\b)| {time}| (?:in order|at a cost|for|after|when|who|as|with)\b)",
        clause.rest,
    )
    if found is None or clause.is_person or not _fits(clause, found["verb"]):
        return
    agent, role = found["agent"], found["role"].strip()
    is_company = {*role.split()[-1:], *names.kind_of(agent).split()[-1:]} <= COMPANIES and bool(role or names.kind_of(agent))
    is_person = agent in names.persons or (re.fullmatch(PEOPLE, role.split(maxsplit=1)[-1] if role else "") is not None)
    if agent != strip(agent) or (is_person and (" " not in agent or " of " in agent)) or agent not in names.names:
        return
    if is_company and agent not in names.persons:
        asked = "By which company"
    elif is_person or (re.fullmatch(PERSON, agent) and not ORGANISATION.search(agent) and not role):
        asked = "By whom"
    elif ORGANISATION.search(agent) and is_distinctive(agent):
        asked = "By which organisation"
    else:
        return
    if found["be"] == "was" and found["verb"] in ("headed", "led", "operated", "owned", "managed", "run", "chaired"):
        return  # others may have led it at other times
    yield Fact(f"{asked} {found['be']} {clause.subject} {found['verb']}?", agent, sentence)


_UNIT = (
    r"(?:square |cubic )?(?:kilo|centi|milli)?(?:metres?|meters?|miles?|feet|hectares?|acres?|grams?|tonnes?"
    r"|tons?|pounds?|litres?|hours?|minutes?|seconds?|degrees Celsius|megawatts?|megahertz)"
)
_LENGTH = r"(?:kilo|centi|milli)?(?:metres?|meters?|miles?|feet)"
_MONEY = (
    r"(?:[$€£¥] ?\d[\d,.]*\d(?: (?:million|billion))?|\d[\d,.]*(?: (?:thousand|million"
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
    (rf" covers (?:an area of )?(?P<value>{NUMBER} (?:square {_LENGTH}|hectares|acres)){_STOP}", "What area does {S} cover"),
    (
        rf" has an? (?P<kind>(?:maximum |total )?(?:{_SIZED})) of (?P<value>{NUMBER} {_UNIT}){_STOP}",
        "What is the {kind} of {S}",
    ),
    (rf" has an area of (?P<value>{NUMBER} (?:square {_LENGTH}|hectares|acres)){_STOP}", "What is the area of {S}"),
    (rf" lies (?P<value>{NUMBER} {_LENGTH}) above sea level", "How high above sea level is {S}"),
    (rf" (?:stands|lies|is) at an altitude of (?P<value>{NUMBER} {_LENGTH}){_STOP}", "At what altitude is {S} located"),
    (rf" lies (?P<value>{NUMBER} {_LENGTH}) (?P<kind>off the coast of {NAME})", "How far {kind} is {S} located"),
    (rf" cost (?P<value>{_MONEY})(?=[.;,](?!\d)|$)", "How much did {S} cost"),
    (rf" is worth (?P<value>{_MONEY})", "How much is {S} worth"),
)


def _measures(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:  # noqa: ARG001
    """Ask for a measurement of something."""
    if clause.time or clause.is_person or not clause.is_thing or _LIMITED.search(_part_of(clause.rest)):
        return
    for pattern, ask in _MEASURES:
        if found := re.match(pattern, clause.rest):
            kind = found.groupdict().get("kind", "")
            if kind == "long" and re.search(r"\b(?:walk|march|race|marathon|festival|regatta|tour)\b", clause.subject, re.I):
                continue
            question = ask.replace("{kind}", kind).replace("{S}", clause.subject)
            yield Fact(f"{question}?", found["value"], sentence)


def _part_of(rest: str) -> str:
    """Return a clause up to its first comma or semicolon."""
    return re.split(r"[,;](?!\d)", rest)[0]


_COUNT = r"(?P<value>\d[\d,]*\d|\d)(?P<scale> (?:million|billion))?"


def _counts(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:  # noqa: ARG001
    """Ask how many things something has: "has 14 stations", "carried 94,000 passengers in 2019"."""
    verbs = "|".join(_PRESENT)
    does = re.match(rf" (?P<verb>{verbs}) (?P<value>{NUMBER}) (?P<what>[a-z-]+(?: [a-z]+)??)(?P<per> (?:a|per) (?:day|week|month|year))?(?=[,;.](?!\d)|$| (?:and|with|at|who|from|in (?:the|six|nine|five|four|three|two|eight|seven|ten) )\b)", clause.rest)  # fmt: skip
    did = re.match(rf" (?P<verb>{'|'.join(_BASE)}) (?P<value>{NUMBER}) (?P<what>[a-z]+(?: of [a-z]+)?)(?P<after> in {YEAR})?(?=[,;.](?!\d)|$| and\b)", clause.rest)  # fmt: skip
    if clause.is_person or _is_uncountable((does or did)["what"] if does or did else ""):
        return
    if does and not clause.time and _fits(clause, does["what"]) and not _LIMITED.search(_part_of(clause.rest)):
        asked = f"How many {does['what']} does {clause.subject} {_PRESENT[does['verb']]}{does['per'] or ''}?"
        yield Fact(asked, does["value"], sentence)
    time = (did["after"] or "").strip() or clause.time if did else ""
    if did and time and _fits(clause, did["what"]) and not re.search("|".join(_PRESENT), did["verb"]):
        yield Fact(f"How many {did['what']} did {clause.subject} {_BASE[did['verb']]} {time}?", did["value"], sentence)


def _is_uncountable(what: str) -> bool:
    last = what.split(" of ")[0].rsplit(maxsplit=1)[-1] if what else ""
    is_plural = last.endswith("s") or last in ("people", "children", "women", "men")
    return not is_plural or re.search(
        rf"^(?:{_UNIT}|days|weeks|months|years|times|points|percent|others|places|dollars|euros|crowns|francs|goals|wins"
        r"|victories|titles|parts|levels|types|kinds|sorts|figures|hours)\b|\b(?:is|was|has|of the)\b",
        what,
    ) is not None  # fmt: skip


def _places(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:  # noqa: ARG001
    """Ask where something is, or where somebody was born."""
    when = rf"(?: (?:on {DAY}|in {MONTH} {YEAR}|in {YEAR}))?"
    found = re.match(
        rf" (?P<verb>is based|is headquartered|was born){when} in (?:the (?:town|city|village) of )?"
        rf"(?P<place>{CAP}(?: {CAP})*)(?!, [A-Z]){_END}",
        clause.rest,
    )
    if found and not re.match(MONTH, found["place"]) and is_distinctive(found["place"]):
        is_body = clause.is_thing or ORGANISATION.search(clause.name) is not None
        if clause.is_person if found["verb"] == "was born" else is_body and not clause.is_person:
            be, verb = found["verb"].split()
            yield Fact(f"Where {be} {clause.subject} {verb}?", found["place"], sentence)


def _deals(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:
    """Ask who won a prize in a given year, who acquired a company, and for how much."""
    won = re.match(rf" won (?P<what>the {YEAR} {NAME})(?= for\b|[,;.]|$)", clause.rest)
    if won and clause.is_person:
        yield Fact(f"Who won {won['what']}?", clause.name, sentence)
    found = re.match(
        rf" (?:has )?(?P<verb>acquired|bought) (?P<what>(?:the )?(?:[A-Z]?[a-z-]+ ){{0,3}}(?P<name>{NAME}))"
        rf"(?: (?:on|in) (?:{DAY}|{MONTH} {YEAR}|{YEAR}))? for (?P<value>{_MONEY})(?=[,;.](?!\d)|$)",
        clause.rest,
    )
    if found and is_distinctive(found["name"]) and found["name"] in names.names:
        base = {"acquired": "acquire", "bought": "buy"}[found["verb"]]
        yield Fact(f"For how much did {clause.subject} {base} {found['what']}?", found["value"], sentence)


def _owners(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:
    """Ask who owns something, or whom it is named after."""
    owner = re.match(rf" belongs to (?:the (?:[a-z]+ )?)?(?P<who>{NAME})(?=[,;.]|$)", clause.rest)
    named = re.match(rf" (?P<be>is|was) named after (?:the {PEOPLE} )?(?P<who>{PERSON})(?=[,;.]|$)", clause.rest)
    if owner and not clause.time and strip(owner["who"]) == owner["who"] and not clause.is_person:
        if is_distinctive(owner["who"]) and names.is_name(owner["who"]):
            yield Fact(f"To whom does {clause.subject} belong?", owner["who"], sentence)
    if named and named["who"] in names.names:
        yield Fact(f"After whom {named['be']} {clause.subject} named?", named["who"], sentence)


_FINDERS = (_dates, _years_of_life, _fronted, _agents, _measures, _counts, _places, _deals, _owners)

_ROLE_NOUN = (
    r"(?:director|president|chairman|chairwoman|chair|chief executive|chief executive officer|head|leader|manager|coach"
    r"|mayor|conductor|editor|principal|captain|headteacher|headmaster|rector|curator|governor|abbot|owner"
    r"|chief engineer|chief financial officer|dean)"
)
_ROLE = rf"(?P<role>(?:(?:managing|artistic|musical|principal|general|executive|head|scientific|medical|deputy) )?{_ROLE_NOUN})"
_WHO = rf"(?:{TITLES} )*(?P<who>{PERSON})"
_ROLES = (
    rf"^[Tt]he {_ROLE} of (?P<body>the [a-z]+|(?:the )?{NAME}) is (?:the {PEOPLE} )?{_WHO}(?=[,;.]|$)",
    rf"(?:^|[\"”] said |[.] )[Tt]he {_ROLE} of (?P<body>(?:the )?{NAME}), {_WHO},",
    rf"^{_WHO} is the {_ROLE} of (?P<body>(?:the )?{NAME})(?=[,;.]|$)",
    rf"(?:^|[\"”] said ){_WHO}, (?:the )?{_ROLE} of (?P<body>(?:the )?{NAME})(?=[,.])",
)


def _roles(sentence: str, names: Names, before: str) -> Iterator[Fact]:
    """Ask who has a role: "The director of the museum is …"."""
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
    found = re.search(rf"^{_WHO} has been (?:the )?{_ROLE} of (?P<body>(?:the )?{NAME}) since (?P<when>{DAY}|{MONTH} {YEAR}|{YEAR})(?=[,;.]|$)", sentence)  # fmt: skip
    resolved = names.display(strip(found["body"])) if found else ""
    if found and resolved:
        asked = f"Who has been the {found['role']} of {resolved} since {found['when']}?"
        yield Fact(asked, found["who"], sentence)


def _own_roles(sentence: str, previous: Clause | None, names: Names) -> Iterator[Fact]:  # noqa: ARG001
    """Ask who has a role in the organisation of the previous sentence: "Its director, …"."""
    found = re.search(rf"(?:^|; |[Aa]ccording to )[Ii]ts {_ROLE}(?:,| is)(?: the {PEOPLE})? {_WHO}(?=[,;.]|$)", sentence)
    if found is None or previous is None or previous.is_person or found.start() > 0 and "ccording" not in found[0]:
        return
    if (previous.is_thing or ORGANISATION.search(previous.name)) and " of " not in previous.subject.replace(previous.name, ""):
        yield Fact(f"Who is the {found['role']} of {previous.subject}?", found["who"], sentence)


_SUPERLATIVE = re.compile(
    rf"^[Tt]he (?P<what>(?:largest|oldest|tallest|longest|highest|deepest|biggest|smallest|steepest)"
    rf"(?: [a-z]+){{1,2}}) (?P<where>in|on|of) (?P<body>the [a-z]+"
    rf"|(?:the )?{NAME}) is (?:the )?(?:[a-z]+ ){{0,2}}(?P<name>{NAME})(?=[,;.]|$| with \d)"
)


def _superlatives(sentence: str, names: Names, before: str) -> Iterator[Fact]:
    """Ask for the largest or oldest of its kind."""
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
_MIN_WORDS = 6  # minimum number of words in a quotation; shorter ones are not unique


def _quotations(sentence: str, names: Names) -> Iterator[Fact]:
    """Ask who said something that names its subject."""
    found = _QUOTED.search(sentence)
    if found is None or len(found["words"].split()) < _MIN_WORDS or found["who"] not in names.persons:
        return
    inner = re.findall(rf"(?<=[a-z,] )(?:the )?({NAME})", found["words"])
    if any(is_distinctive(name) and " " in name and names.display(strip(name)) for name in inner):
        words = " ".join(found["words"].split()).rstrip(",.")
        yield Fact(f"Who said “{words}”?", found["who"], sentence)
