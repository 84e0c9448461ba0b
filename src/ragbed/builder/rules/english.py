"""Find facts in English texts and write questions about them.

A question keeps the words of its sentence. A sentence is used only if its subject is a name, or a noun such as "the
bridge" with which exactly one name in the text ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.builder.rules.english_names import (
    BODIES,
    CAP,
    DAY,
    DEPENDENT,
    END,
    MONTH,
    NAME,
    NOT_NAMES,
    NUMBER,
    ORGANISATION,
    PEOPLE,
    PERSON,
    STOP,
    TITLES,
    UNSURE,
    WHEN,
    YEAR,
    Sentences,
    Subject,
    find_subject,
    relative_clauses,
)
from ragbed.builder.rules.facts import Fact

# Past forms and the base forms that questions with "did" need; verbs that are not listed are not used.
_BASE = {
    "opened": "open", "closed": "close", "began": "begin", "died": "die", "started": "start", "entered": "enter",
    "erupted": "erupt", "sank": "sink", "collapsed": "collapse", "produced": "produce", "sold": "sell",
    "carried": "carry", "had": "have", "won": "win", "received": "receive", "employed": "employ",
    "published": "publish",
    "founded": "found", "moved": "move", "reached": "reach", "joined": "join", "left": "leave", "handled": "handle",
    "paid": "pay", "lent": "lend", "launched": "launch", "bought": "buy", "acquired": "acquire", "became": "become",
    "patented": "patent", "signed": "sign", "raised": "raise", "retired": "retire", "married": "marry",
    "introduced": "introduce", "visited": "visit", "scored": "score", "delivered": "deliver", "presented": "present",
    "appeared": "appear", "completed": "complete", "invented": "invent", "discovered": "discover",
    "transported": "transport", "exported": "export", "built": "build", "recorded": "record", "earned": "earn",
}  # fmt: skip
_PRESENT = {
    "holds": "hold", "shows": "show", "produces": "produce", "reaches": "reach", "contains": "contain",
    "carries": "carry", "serves": "serve", "sells": "sell", "seats": "seat", "treats": "treat",
}  # fmt: skip


def find_english_facts(title: str, text: str) -> Iterator[Fact]:
    """Yield the facts of a text, sentence by sentence."""
    read = Sentences(title, text)
    before, previous = "", None
    for sentence in read.sentences:
        yield from _own_roles(sentence, previous, read)
        for find in (_quotations, _definitions, _roles, _superlatives):
            yield from find(sentence, read, before)
        subject = find_subject(sentence, read, before, previous)
        for about in filter(None, (subject, *relative_clauses(sentence, read))):
            for find_in in (_dates, _fronted, _agents, _measures, _counts, _places, _winners, _prices, _owners):
                yield from (fact for fact in find_in(about, sentence) if _is_certain(fact, sentence))
        before, previous = f"{before}{sentence} ", subject


def _is_certain(fact: Fact, sentence: str) -> bool:
    """Check that nothing before the end of the answer's clause makes the statement uncertain."""
    end = sentence.find(fact.answer) + len(fact.answer)
    clause = re.split(r"[,;](?! ?\d)", sentence[end:])[0]
    return UNSURE.search(sentence[:end] + clause) is None and DEPENDENT.search(fact.question) is None


def _dates(subject: Subject, sentence: str) -> Iterator[Fact]:
    """Ask when something happened: "was opened on 1 June 2024", "opened in 2004"."""
    passive = re.match(
        rf" (?P<be>was|were) (?P<verb>(?:first |officially |last )?\w+(?:ed|en|t|n|d|ng))(?P<rest>(?: (?!on \d"
        rf"|in [12]|in {MONTH})"
        rf"[\w’'-]+){{0,6}}?) {WHEN}{END}",
        subject.rest,
    )
    active = re.match(
        rf" (?P<verb>(?!had\b)(?:{'|'.join(_BASE)})|took place)(?P<rest>(?: (?!on \d|in [12]"
        rf"|in {MONTH})[\w’'-]+){{0,7}}?) {WHEN}{END}",
        subject.rest,
    )
    for found in filter(None, (passive, active)):
        asked, answer = _ask_when(found)
        if subject.time or re.search(r"\b(?:and|which|who)\b", found["rest"]):
            continue
        if found["day"] and re.search(r"\b(?:take place|took place|held)$", found["verb"]):
            asked += f" in {answer[-4:]}"  # the event may be repeated
        if found is passive:
            yield Fact(f"{asked} {found['be']} {subject.text} {found['verb']}{found['rest']}?", answer, sentence)
        else:
            base = "take place" if found["verb"] == "took place" else _BASE[found["verb"]]
            yield Fact(f"{asked} did {subject.text} {base}{found['rest']}?", answer, sentence)


def _fronted(subject: Subject, sentence: str) -> Iterator[Fact]:
    """Ask for the time given at the start of a sentence: "In 2018 the barge was listed as a monument"."""
    found = re.match(rf"(on|in) ({DAY}|{MONTH} {YEAR}|{YEAR})$", subject.time)
    clause = re.split(r"[,;.]|(?: and| but| when| where| for| with| after| because) ", subject.rest)[0]
    passive = re.fullmatch(r" (?P<be>was|were) (?P<rest>\w+(?:ed|en|t|n|d)(?: [\w’'-]+){1,9})", clause)
    active = re.fullmatch(rf" (?P<verb>{'|'.join(_BASE)})(?P<rest>(?: [\w’'-]+){{1,9}})", clause)
    if found is None or re.search(r"\d|^ had\b| to \w+$", clause) or UNSURE.search(clause):
        return
    asked = "On what date" if found[1] == "on" else "In what year" if found[2].isdigit() else "In which month and year"
    if passive:
        yield Fact(f"{asked} {passive['be']} {subject.text} {passive['rest']}?", found[2], sentence)
    elif active:
        yield Fact(f"{asked} did {subject.text} {_BASE[active['verb']]}{active['rest']}?", found[2], sentence)


def _ask_when(found: re.Match[str]) -> tuple[str, str]:
    if found["day"]:
        return "On what date", found["day"]
    if found["month"]:
        return "In which month and year", found["month"]
    return "In what year", found["year"]


def _agents(subject: Subject, sentence: str) -> Iterator[Fact]:
    """Ask who did something: "was designed by Ingrid Solberg"."""
    found = re.match(
        rf" (?P<be>is|was|were) (?P<verb>(?!not\b)\w{{2,}}(?:ed|en|t|n|d))(?P<rest>(?: [\w’'-]+){{0,4}}?) by "
        rf"(?:the (?P<role>{PEOPLE}|{BODIES}) )?(?:{TITLES} )*(?P<the>the )?(?P<agent>{NAME}){STOP}",
        subject.rest,
    )
    if found is None or re.match(rf" (?:and|&) (?:the )?{CAP}", subject.rest[found.end() :]):
        return
    agent = found["agent"]
    is_body = ORGANISATION.search(agent) or re.fullmatch(BODIES, found["role"] or "")
    if not is_body and (" " not in agent or " of " in agent):
        return
    asked = "By which organisation" if is_body else "By whom"
    time = f" {subject.time}" if subject.time else ""
    yield Fact(f"{asked} {found['be']} {subject.text} {found['verb']}{found['rest']}{time}?", agent, sentence)


_UNIT = (
    r"(?:square |cubic )?(?:kilo|centi|milli)?(?:metres?|meters?|miles?|feet|hectares?|acres?|kilograms?|grams?|tonnes?"
    r"|tons?|pounds?|litres?|hours?|minutes?|seconds?|degrees Celsius|percent|megawatts?|megahertz|hectares?"
    r"|days|weeks)"
)
_MONEY = (
    r"(?:[$€£¥] ?\d[\d,.]*(?: (?:million|billion))?|\d[\d,.]*(?: (?:thousand|million"
    r"|billion))? (?:US )?(?:dollars|euros|pounds|crowns|francs|pesos"
    r"|marks|rand|dinars|guilders|thalers|yuan|yen|rupees))"
)
_SIZES = "long|high|tall|wide|deep|thick"
_SIZED = "diameter|depth|length|height|capacity|range|population|area|gradient"
# Patterns for values, and the questions that ask for them; {S} is the subject.
_MEASURES = (
    (rf" is (?P<value>{NUMBER} {_UNIT}) (?P<kind>{_SIZES}|old)\b", "How {kind} is {S}"),
    (rf" was (?P<value>{NUMBER} {_UNIT}) (?P<kind>{_SIZES})\b", "How {kind} was {S}"),
    (rf" weighs (?P<value>{NUMBER} {_UNIT})", "How much does {S} weigh"),
    (rf" covers (?:an area of )?(?P<value>{NUMBER} (?:square {_UNIT}|hectares|acres))", "What area does {S} cover"),
    (
        rf" has an? (?P<kind>(?:maximum |average |total )?(?:{_SIZED})) of (?P<value>{NUMBER}(?: {_UNIT})?)",
        "What is the {kind} of {S}",
    ),
    (rf" lies (?P<value>{NUMBER} {_UNIT}) above sea level", "How high above sea level does {S} lie"),
    (
        rf" (?:stands|lies) at an? (?P<kind>altitude|depth|height) of (?P<value>{NUMBER} {_UNIT})",
        "At what {kind} does {S} lie",
    ),
    (rf" lies (?P<value>{NUMBER} {_UNIT}) (?P<kind>off the coast of {NAME})", "How far {kind} does {S} lie"),
    (rf" cost (?P<value>{_MONEY})(?=[.;,](?!\d)|$| and\b)", "How much did {S} cost"),
    (rf" costs (?P<value>{_MONEY})(?=[.;](?!\d)|$)", "How much does {S} cost"),
    (rf" is worth (?P<value>{_MONEY})", "How much is {S} worth"),
)


def _measures(subject: Subject, sentence: str) -> Iterator[Fact]:
    """Ask for a measurement of something."""
    if subject.time:
        return
    for pattern, ask in _MEASURES:
        if found := re.search(rf"^(?:[^,;]*? and)?{pattern}", subject.rest):
            kind = found.groupdict().get("kind", "")
            question = ask.replace("{kind}", kind).replace("{S}", subject.text)
            yield Fact(f"{question}?", found["value"], sentence)


def _counts(subject: Subject, sentence: str) -> Iterator[Fact]:
    """Ask how many things something has, has sold or has produced."""
    has = re.search(
        rf"^(?:[^,;]*? and)? (?P<verb>has"
        rf"|employs)(?: now)? (?P<value>\d[\d,]*(?:\.\d+ million)?) (?P<what>[a-z]+(?: [a-z]+)?s|people"
        rf"|inhabitants){END}",
        subject.rest,
    )
    does = re.search(
        rf"^(?:[^,;]*? and)? (?P<verb>{'|'.join(_PRESENT)}) (?P<value>\d[\d,]*(?:\.\d+ million)?)"
        rf" (?P<what>[a-z]+(?: of [a-z]+)?)(?P<per> (?:a|per) (?:day|week|month|year))?{END}",
        subject.rest,
    )
    did = re.match(
        rf" (?P<verb>{'|'.join(_BASE)}) (?P<value>\d[\d,.]*(?: million"
        rf"| billion)?) (?P<what>[a-z]+(?: of [a-z]+)?){END}",
        subject.rest,
    )
    if has and not subject.time and not re.fullmatch(_UNIT, has["what"]):
        base = "have" if has["verb"] == "has" else "employ"
        yield Fact(f"How many {has['what']} does {subject.text} {base}?", has["value"], sentence)
    if does and not subject.time and not re.fullmatch(_UNIT, does["what"]):
        asked = f"How many {does['what']} does {subject.text} {_PRESENT[does['verb']]}{does['per'] or ''}?"
        yield Fact(asked, does["value"], sentence)
    if did is None:
        return
    time = subject.time
    after = re.match(rf" in ({YEAR})", subject.rest[did.end() :])
    if not time and after:
        time = f"in {after[1]}"
    if time:
        asked = f"How many {did['what']} did {subject.text} {_BASE[did['verb']]} {time}?"
        yield Fact(asked, did["value"], sentence)


def _places(subject: Subject, sentence: str) -> Iterator[Fact]:
    """Ask where something is, or where somebody was born."""
    found = re.search(
        rf"^(?:[^,;]*? and)? (?P<verb>is based|is headquartered|was born|is located) in (?P<place>{NAME}){END}",
        subject.rest,
    )
    if found and not re.fullmatch(rf"{MONTH}.*", found["place"]):
        be, verb = found["verb"].split()
        yield Fact(f"Where {be} {subject.text} {verb}?", found["place"], sentence)


def _winners(subject: Subject, sentence: str) -> Iterator[Fact]:
    """Ask who acquired, discovered or won something that has a name."""
    found = re.match(
        r" (?:has |have )?(?P<verb>acquired|bought|discovered|founded|invented|patented|designed|won|headed"
        r"|recalled|ordered)"
        rf" (?P<what>(?:the |an? )?(?:[\d,]+ )?(?:[a-z]+ ){{0,3}}{NAME}(?: [a-z]+)?){END}",
        subject.rest,
    )
    if found is None or subject.time or not re.search(r"[A-Z]", found["what"]):
        return
    if found["verb"] == "won" and not re.search(YEAR, found["what"]):
        return
    name = subject.text.removeprefix("the ")
    yield Fact(f"Who {found['verb']} {found['what']}?", name, sentence)


def _prices(subject: Subject, sentence: str) -> Iterator[Fact]:
    """Ask what something was bought or sold for, or since when it has been something."""
    found = re.match(
        rf" (?:has |have )?(?P<verb>acquired|bought|sold) (?P<what>(?:the )?{NAME}) for (?P<value>{_MONEY})",
        subject.rest,
    )
    if found and not subject.time:
        asked = f"For how much did {subject.text} {_BASE[found['verb']]} {found['what']}?"
        yield Fact(asked, found["value"], sentence)


def _owners(subject: Subject, sentence: str) -> Iterator[Fact]:
    """Ask who owns something, or whom it is named after."""
    owner = re.match(rf" belong(?:s|ed) to (?:the (?:[a-z]+ )?)?(?P<who>{NAME}){END}", subject.rest)
    named = re.match(rf" (?P<be>is|was) named after (?:the {PEOPLE} )?(?P<who>{PERSON}){END}", subject.rest)
    if owner and not subject.time:
        verb = "does" if " belongs " in owner[0] else "did"
        yield Fact(f"To whom {verb} {subject.text} belong?", owner["who"], sentence)
    if named:
        yield Fact(f"After whom {named['be']} {subject.text} named?", named["who"], sentence)


_QUOTED = re.compile(
    rf"[\"“](?P<words>[A-Z0-9][^\"“”()\[\]]+?),?[\"”],? said (?:{TITLES} )*"
    rf"(?:(?:the |its |their |his |her )?(?:(?!for\b|of\b|at\b|from\b|to\b|in\b)[a-z-]+ ){{1,3}})?"
    rf"(?P<who>{CAP}(?: (?:de |van |van der |von )?{CAP}){{1,2}})(?=,|\.$|\. |$| (?:at|on|in|of|who|after)\b)"
)
_RANK = re.compile(
    r"\b(?:CEO|CFO|Member|President|Commissioner|Director|Chief|Officer|Secretary|Senator|Minister|Manager"
    r"|Chairman|Jr|Sr"
    r"|Spokes\w+|Representative|Governor|General|Head|Vice|Co|Coach|Captain|Justice|Attorney)\b|['’]s\b|\b[A-Z]\.?$"
)
_MIN_WORDS = 6  # minimum number of words in a quotation; shorter ones are not unique


def _quotations(sentence: str, read: Sentences, before: str) -> Iterator[Fact]:  # noqa: ARG001
    """Ask who said something."""
    found = _QUOTED.search(sentence)
    if found is None or len(found["words"].split()) < _MIN_WORDS:
        return
    who = re.sub(rf"^(?:{TITLES} )+", "", found["who"])
    if " " in who and not _RANK.search(who):
        words = " ".join(found["words"].split()).rstrip(",.")
        yield Fact(f"Who said “{words}”?", who, sentence)


def _definitions(sentence: str, read: Sentences, before: str) -> Iterator[Fact]:  # noqa: ARG001
    """Ask for an abbreviation or a term that the text defines."""
    if found := re.match(
        r"The (?P<what>abbreviation|acronym) (?P<term>[A-Z]{2,6}) stands for (?P<long>[\w -]+)\.$", sentence
    ):
        yield Fact(f"What does the {found['what']} {found['term']} stand for?", found["long"], sentence)
    found = re.match(
        r"(?:An? )?(?P<term>[A-Z][a-z]+(?:[- ][a-z]+)?) is (?P<means>the [a-z]+(?: [a-z]+)? of [a-z -]+)\.$", sentence
    )
    is_term = found is not None and found["term"] not in NOT_NAMES and found["term"] not in read.names
    if found and is_term and len(found["means"].split()) >= _MIN_WORDS:
        yield Fact(f"What is the term for {found['means']}?", found["term"], sentence)


_ROLE = r"(?:[a-z]+ ){0,2}[a-z]+"
_ROLES = (
    rf"^The (?P<role>{_ROLE}) of (?P<body>the [a-z]+"
    rf"|(?:the )?{NAME}) is (?:the [a-z]+ )?(?:{TITLES} )*(?P<who>{PERSON}){END}",
    rf"^The (?P<role>{_ROLE}) of (?P<body>(?:the )?{NAME}), (?P<who>{PERSON}),",
    rf"^(?P<who>{PERSON}) is the (?P<role>{_ROLE}) of (?P<body>(?:the )?{NAME}){END}",
    rf"(?:^|[\"”] said |[.] )(?P<who>{PERSON}), the (?P<role>{_ROLE}) of (?P<body>(?:the )?{NAME})[,.]",
)
_PERSON_ROLE = re.compile(
    r"\b(?:director|president|chair\w*|executive|head|leader|manager|coach|mayor|author|conductor|editor"
    r"|founder|officer"
    r"|principal|captain|secretary|scientist|curator|owner|minister|designer|architect)$"
)


def _roles(sentence: str, read: Sentences, before: str) -> Iterator[Fact]:
    """Ask who has a role: "The director of the museum is …"."""
    for pattern in _ROLES:
        found = re.search(pattern, sentence)
        if found is None or not _PERSON_ROLE.search(found["role"]):
            continue
        body = found["body"]
        resolved = read.resolve(body[4:], before) if re.fullmatch("the [a-z]+", body) else body
        fact = Fact(f"Who is the {found['role']} of {resolved}?", found["who"], sentence)
        if resolved and DEPENDENT.search(fact.question) is None and not UNSURE.search(sentence[: found.end()]):
            yield fact


def _own_roles(sentence: str, previous: Subject | None, read: Sentences) -> Iterator[Fact]:
    """Ask who has a role in the organisation of the previous sentence: "Its director, …"."""
    found = re.match(rf"Its (?P<role>{_ROLE})(?:,| is)(?: {TITLES})? (?P<who>{PERSON}){END}", sentence)
    if found is None or previous is None or read.is_person(previous.text) or " of " in previous.text:
        return
    if _PERSON_ROLE.search(found["role"]) and not UNSURE.search(found[0]):
        yield Fact(f"Who is the {found['role']} of {previous.text}?", found["who"], sentence)


_SUPERLATIVE = re.compile(
    rf"^The (?P<what>(?:largest|oldest|tallest|longest|highest|deepest|biggest|smallest|first|main|worst|best"
    rf"|steepest|most [a-z]+)"
    rf"(?: [a-z]+){{1,3}}) (?P<where>in|on|of|over) (?P<body>the [a-z]+"
    rf"|(?:the )?{NAME}) is (?:the )?(?:[a-z]+ ){{0,2}}(?P<name>{NAME}){END}"
)


def _superlatives(sentence: str, read: Sentences, before: str) -> Iterator[Fact]:
    """Ask for the largest, oldest or first of its kind."""
    found = _SUPERLATIVE.match(sentence)
    if found is None:
        return
    body = found["body"]
    resolved = read.resolve(body[4:], before) if re.fullmatch("the [a-z]+", body) else body
    if resolved and not UNSURE.search(sentence[: found.end()]):
        yield Fact(f"What is the {found['what']} {found['where']} {resolved}?", found["name"], sentence)
