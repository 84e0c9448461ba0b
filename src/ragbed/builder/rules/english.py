"""Find facts in English texts and write questions about them.

A question keeps the words of its sentence. A clause is used only if its subject is a name that is clear on its own, or
if "the bridge" or "it" can refer only to one such name. When in doubt, no question is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragbed.builder.rules.english_blanks import find_blanks
from ragbed.builder.rules.english_clauses import Clause, find_clauses
from ragbed.builder.rules.english_events import find_events
from ragbed.builder.rules.english_excerpts import find_excerpts
from ragbed.builder.rules.english_names import Names, strip
from ragbed.builder.rules.english_people import find_own_roles, find_quotations, find_roles, find_superlatives
from ragbed.builder.rules.english_values import MONEY, find_counts, find_measures, fits
from ragbed.builder.rules.english_words import (
    CAP,
    COMPANIES,
    DAY,
    DEPENDENT,
    MONTH,
    NAME,
    ORGANISATION,
    PEOPLE,
    PERSON,
    TITLES,
    UNSURE,
    WHEN,
    YEAR,
    is_distinctive,
)
from ragbed.builder.rules.facts import Fact

# Events that can happen to a subject only once, so that a question need not state the year.
_ONCE = (
    "founded|established|built|opened|completed|inaugurated|published|released|launched|designed|invented|discovered"
    "|created|composed|painted|written|demolished|dissolved|electrified|born|patented|signed|consecrated"
    "|constructed|set up|first described|first mentioned|first published|officially opened|shut down|abolished"
    "|unveiled|reopened|closed|torn down"
)
_ONCE_ACTIVE = {"opened": "open", "closed": "close", "died": "die", "sank": "sink", "collapsed": "collapse"}
_OBJECT = {"won": "win", "received": "receive", "acquired": "acquire", "bought": "buy", "founded": "found"}
_PRIZES = re.compile(r"\b(?:Prize|Award|Medal|Cup|Trophy|Lion|Bear|Quill|Order)\b")
# Words and punctuation that may follow a complete statement.
_END = (
    r"(?=[,;.](?!\d)|$| (?:and|but|with|from|after|for|by|when|while|where|near|as|who|which|because|since|under"
    r"|instead|during|at|following|in|on|to)\b(?! (?:in |on )?[12]\d{3}))"
)


def find_english_facts(title: str, text: str) -> Iterator[Fact]:
    """Yield the facts found in a text, sentence by sentence."""
    names = Names(title, text)
    for sentence, before, previous, clauses in find_clauses(names):
        if names.is_denied(sentence) or names.has_speaker(sentence):
            continue
        found = [*find_roles(sentence, names, before), *find_own_roles(sentence, previous)]
        found += [*find_superlatives(sentence, names, before), *find_quotations(sentence, names)]
        found += [fact for clause in clauses for find in _FINDERS for fact in find(clause, sentence, names)]
        found += [fact for clause in clauses for fact in find_events(clause, sentence, names)]
        yield from (fact for fact in found if _is_certain(fact, sentence))
        yield from find_blanks(sentence, names, _find_antecedent(sentence, clauses))
        yield from find_excerpts(sentence, names)


def _find_antecedent(sentence: str, clauses: Sequence[Clause]) -> str:
    """Return the antecedent of the pronoun at the start of a sentence, or an empty string if there is no clear one."""
    pronoun = re.match(r"(?:It|He|She)(?= )", sentence)
    if pronoun is None or not clauses:
        return ""
    return clauses[0].subject if sentence[pronoun.end() :].startswith(clauses[0].rest.rstrip(" .")) else ""


def _is_certain(fact: Fact, sentence: str) -> bool:
    """Check that nothing before the end of the answer's clause makes the statement uncertain."""
    end = sentence.find(fact.answer) + len(fact.answer)
    clause = re.split(r"[,;](?! ?\d)", sentence[end:])[0]
    asked = re.sub(r"“[^”]*”", "", fact.question)
    stated = re.sub(r"[“\"][^”\"]*[”\"]", "", sentence[:end] + clause)
    return UNSURE.search(stated) is None and DEPENDENT.search(asked) is None


def _ask_when(found: re.Match[str]) -> tuple[str, str]:
    if found["day"]:
        return "On what date", found["day"]
    if found["month"]:
        return "In which month and year", found["month"]
    return "In what year", found["year"]


def _dates(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:
    """Ask when a unique event happened, based on a clause such as "was opened by … in June 2024" or "died in 2004"."""
    other = rf"(?!on \d|in [12]|in {MONTH}|by |who\b|which\b)"
    between = rf"(?: (?:by|in|at|as|of|on the)(?: {other}[\w’'-]+){{1,7}}?)?"
    passive = re.match(
        rf" (?P<be>was|were) (?:finally |officially |formally |ceremonially )?(?P<verb>{_ONCE}){between} {WHEN}{_END}",
        clause.rest,
    )
    active = re.match(rf" (?P<verb>{'|'.join(_ONCE_ACTIVE)}){between} {WHEN}{_END}", clause.rest)
    found = passive or active
    if found is None or clause.time or _repeats(found["verb"], clause, names):
        return
    asked, answer = _ask_when(found)
    is_life = found["verb"] in ("born", "died")
    if is_life != clause.is_person or not (is_life or fits(clause, found["verb"])):
        return
    if passive:
        yield Fact(f"{asked} {passive['be']} {clause.subject} {passive['verb']}?", answer, sentence)
    else:
        yield Fact(f"{asked} did {clause.subject} {_ONCE_ACTIVE[found['verb']]}?", answer, sentence)


def _repeats(verb: str, clause: Clause, names: Names) -> bool:
    """Check whether the text may state more than one date for the event, e.g. because of a reopening."""
    stem = verb.rsplit(maxsplit=1)[-1].removeprefix("re")
    same = re.findall(rf"\b(?:re-?)?{stem} (?:[\w’'-]+ ){{0,6}}?(?:in|on) (?:\d|{MONTH})", names.full)
    own = [sentence for sentence in names.sentences if re.search(rf"\b(?:re-?|first ){stem}\b", sentence)]
    again = verb in ("opened", "closed", "built", "published") and any(clause.name in sentence for sentence in own)
    is_other = len(same) > 1 and verb in ("signed", "started", "described", "introduced", "released", "published")
    return again or is_other


def _years_of_life(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:
    """Ask when a person was born and died, based on a clause such as "Beatrix Lowe (1861–1938) was"."""
    found = re.search(rf"{re.escape(clause.name)} \(([12]\d{{3}})[–-]([12]\d{{3}})\)", sentence)
    if found and clause.is_person and clause.is_first:
        for asked, verb, year in (("was", "born", found[1]), ("did", "die", found[2])):
            if not re.search(rf"\b(?:{verb}|died)\b[^.]*{year}", names.full.replace(found[0], "")):
                yield Fact(f"In what year {asked} {clause.name} {verb}?", year, sentence)


def _fronted(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:
    """Ask when an event with two named parties happened, e.g. "In 2022 Corvane received the Green Wheel Award"."""
    verbs = "|".join(_OBJECT)
    when = rf"on {DAY}|in {MONTH} {YEAR}|in {YEAR}"
    found = re.match(rf" (?P<verb>{verbs}) (?P<what>[^,;]*?) (?P<when>{when}){_END}", clause.rest)
    time = found["when"] if found else clause.time
    found = found or re.match(rf" (?P<verb>{verbs}) (?P<what>[^,;.]+?)(?= for\b|[,;.]|$)", clause.rest)
    if found is None or not time or not clause.is_first or not _is_clear_object(found["verb"], found["what"], names):
        return
    if (found.groupdict().get("when") and clause.time) or re.search(r"\btime\b", sentence):
        return
    asked = "In which month and year"
    if re.fullmatch(f"on {DAY}|in {YEAR}", time):
        asked = "On what date" if time.startswith("on ") else "In what year"
    question = f"{asked} did {clause.subject} {_OBJECT[found['verb']]} {found['what']}?"
    yield Fact(question, time.split(" ", 1)[1], sentence)


def _is_clear_object(verb: str, what: str, names: Names) -> bool:
    """Check that the object is a prize (for "won" or "received") or a named thing (for verbs such as "founded")."""
    words = r"(?:(?!from|of|with|by|in|for|and|to)[A-Z]?[a-z]+ ){0,3}?"
    found = re.fullmatch(rf"(?:the |an? )?{words}({NAME})", what)
    if found is None or found[1] not in names.names or not is_distinctive(found[1]) or re.search(r"\d", what):
        return False
    if verb in ("won", "received"):
        return _PRIZES.search(found[1]) is not None
    return bool(names.kind_of(found[1])) or ORGANISATION.search(found[1]) is not None


_MADE = (
    "founded|established|built|designed|invented|discovered|created|composed|painted|written|directed|developed"
    "|constructed|made|operated|published|headed|led|owned|managed|organised|run|chaired|first described|drafted"
    "|inaugurated|donated|illustrated|produced|edited|carved|manufactured"
)


_TIME = rf"(?:on {DAY}|in {MONTH} {YEAR}|in {YEAR})"
_ORIGIN = r"(?:[A-Z][a-z]+(?:an|ish|ese|iss|ch|ic|sh) )?"
_AGENT = (
    rf" (?P<be>is|was|were) (?P<verb>{_MADE})(?: {_TIME})?(?: in {NAME})? by (?:the |an? )?"
    rf"(?P<role>{_ORIGIN}(?:(?!and\b|or\b)[a-z-]+ ){{0,3}}?)(?:{TITLES} )*(?:the )?(?P<agent>{NAME})"
    rf"(?=[.;]|$|,(?! (?:the |and )?{CAP}| and\b)| {_TIME}| (?:in order|at a cost|for|after|when|who|as|with)\b)"
)


def _agents(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:
    """Ask who did something, based on a clause such as "was designed in 1904 by the architect Ingrid Solberg"."""
    found = re.match(_AGENT, clause.rest)
    if found is None or clause.is_person or not fits(clause, found["verb"]):
        return
    if found["be"] == "was" and found["verb"] in ("headed", "led", "operated", "owned", "managed", "run", "chaired"):
        return  # the subject may have had other leaders or owners at other times
    if asked := _ask_agent(found["agent"], found["role"].strip(), names):
        yield Fact(f"{asked} {found['be']} {clause.subject} {found['verb']}?", found["agent"], sentence)


def _ask_agent(agent: str, role: str, names: Names) -> str:
    """Return the question words for an agent, or an empty string if it is unclear who or what the agent is."""
    if agent != strip(agent) or agent not in names.names:
        return ""
    kinds = {*role.split()[-1:], *names.kind_of(agent).split()[-1:]}
    is_person = agent in names.persons or re.fullmatch(PEOPLE, role.split(maxsplit=1)[-1] if role else "") is not None
    if is_person and (" " not in agent or " of " in agent):
        return ""
    if agent not in names.persons and kinds and kinds <= COMPANIES:
        return "By which company"
    if is_person or (re.fullmatch(PERSON, agent) and not ORGANISATION.search(agent) and not role):
        return "By whom"
    return "By which organisation" if ORGANISATION.search(agent) and is_distinctive(agent) else ""


def _places(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:  # noqa: ARG001
    """Ask where something is located, or where a person was born."""
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
        rf"(?: (?:on|in) (?:{DAY}|{MONTH} {YEAR}|{YEAR}))? for (?P<value>{MONEY})(?=[,;.](?!\d)|$)",
        clause.rest,
    )
    if found and is_distinctive(found["name"]) and found["name"] in names.names:
        base = {"acquired": "acquire", "bought": "buy"}[found["verb"]]
        yield Fact(f"For how much did {clause.subject} {base} {found['what']}?", found["value"], sentence)


def _owners(clause: Clause, sentence: str, names: Names) -> Iterator[Fact]:
    """Ask who owns something, or whom it is named after."""
    owner = re.match(rf" belongs to (?:the (?:[a-z]+ )?)?(?P<who>{NAME})(?=[,;.]|$)", clause.rest)
    named = re.match(rf" (?P<be>is|was) named after (?:the {PEOPLE} )?(?P<who>{PERSON})(?=[,;.]|$)", clause.rest)
    who = owner["who"] if owner and not clause.time and not clause.is_person else ""
    if who and strip(who) == who and is_distinctive(who) and names.is_name(who):
        yield Fact(f"To whom does {clause.subject} belong?", who, sentence)
    if named and named["who"] in names.names and named["who"].rsplit(maxsplit=1)[-1] not in clause.subject:
        yield Fact(f"After whom {named['be']} {clause.subject} named?", named["who"], sentence)


_FINDERS = (_dates, _years_of_life, _fronted, _agents, find_measures, find_counts, _places, _deals, _owners)
