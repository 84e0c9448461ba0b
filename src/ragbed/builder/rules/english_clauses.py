"""Find the clauses with a known subject in an English sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ragbed.builder.rules.english_names import Names, strip
from ragbed.builder.rules.english_words import (
    DAY,
    KINDS,
    MODIFIERS,
    MONTH,
    NAME,
    OF_KINDS,
    YEAR,
)


class Clause(NamedTuple):
    """A clause with a known subject."""

    subject: str  # the subject in the form used in a question
    name: str  # name of the subject
    rest: str  # the clause after the subject, starting with a space and a verb
    time: str = ""  # a time expression at the start of the sentence, e.g. "in 2019"
    is_person: bool = False
    is_thing: bool = False  # whether the text states what the subject is, e.g. a river
    is_first: bool = True  # whether this is the first clause after the subject


_PARTICIPLES = (
    "founded|built|opened|established|designed|completed|created|written|published|dissolved|electrified|closed"
    "|demolished|launched|inaugurated|composed|painted|directed|bought|acquired|discovered|introduced|released"
    "|consecrated|patented|constructed|restored|renovated"
)
_VERB = (
    r"(?:was|is|has|had|were|are|cost|costs|covers|weighs|employs|belongs|belonged|carries|holds|lies|stands|opened"
    r"|closed|died|began|won|sank|produces|produced|seats|contains|serves|shows|acquired|bought|received|sold|carried"
    r"|became|joined|rises|measures|erupted|moved|started|entered|collapsed|founded|took|ran|runs|developed|designed"
    r"|invented|discovered|patented|published|launched|ordered|recalled|reached|handled|exported|recorded|earned"
    r"|employed|lent|delivered|transported|have|do|[a-z]+(?:s|ed))\b"
)
_FRONT = re.compile(rf"(?:In|On) (?:{DAY}|{MONTH} {YEAR}|{YEAR}),? (?=\S)")
_APPOSED = re.compile(r"(?: \(\d{4}[–-]\d{4}\))?(?:, (?!and\b|but\b|so\b)[^,;]+(?:,(?=\d)[^,;]+)*,)?(?= )")


def find_clauses(names: Names) -> Iterator[tuple[str, str, Clause | None, list[Clause]]]:
    """Yield each sentence and its clauses, with the preceding text and the previous sentence's main clause, if any."""
    before, previous, read = "", None, ""
    for sentence in names.sentences:
        main = _main_clause(sentence, names, before, (previous, read))
        found = list(_split(main)) if main else []
        found += [clause for clause in _relative_clauses(sentence, names) if clause.subject]
        yield sentence, before, previous, found
        before, previous, read = f"{before}{sentence} ", main, sentence


def _make(names: Names, name: str, rest: str, time: str = "") -> Clause | None:
    subject = names.display(name)
    if not subject or not re.match(rf" (?:now |also |today )?{_VERB}", rest):
        return None
    return Clause(subject, name, rest, time, name in names.persons, names.is_thing(name))


def _main_clause(sentence: str, names: Names, before: str, previous: tuple[Clause | None, str]) -> Clause | None:
    front = _FRONT.match(sentence)
    time = "" if front is None else front[0][0].lower() + front[0][1:].strip().rstrip(",")
    body = sentence[front.end() :] if front else sentence
    for find in (_named, _typed, _part):
        if found := find(body, names, time):
            return found
    if noun := re.match(r"[Tt]he ([a-z-]+)(?= )", body):
        known = names.resolve(noun[1], before) if noun[1] in KINDS else ""
        return _make(names, known, body[noun.end() :], time) if known else None
    return _pronoun(body, names, time, previous)


def _named(body: str, names: Names, time: str) -> Clause | None:
    """Parse clauses such as "The Alder Tower, which …, was opened" or "Tarrant Academy in Wexmouth is"."""
    found = re.match(rf"(?:[Tt]he )?({NAME})", body)
    if found is None:
        return None
    name = strip(found[1])
    if not found[1].endswith(name):
        return None
    rest = body[found.end() :]
    if name not in names.persons and (person := names.full_person(name)):
        name = person
    place = re.match(rf" (?:in|on|near|at) (?:the )?{NAME}(?= )", rest)
    rest = rest[place.end() :] if place else rest
    apposed = _APPOSED.match(rest)
    return _make(names, name, rest[apposed.end() if apposed else 0 :], time)


def _typed(body: str, names: Names, time: str) -> Clause | None:
    """Parse clauses such as "The steamship Queen Maud carried" or "The town of Milparra was"."""
    kinds = "|".join(sorted(KINDS, key=len, reverse=True))
    found = re.match(rf"[Tt]he (?:[a-z-]+ )?(?:(?:{'|'.join(OF_KINDS)}) of|{kinds}) ({NAME})", body)
    if found is None:
        return None
    rest = body[found.end() :]
    apposed = _APPOSED.match(rest)
    return _make(names, strip(found[1]), rest[apposed.end() if apposed else 0 :], time)


def _part(body: str, names: Names, time: str) -> Clause | None:
    """Parse clauses such as "The tower of St Oswin's Church is" or "The Copperhill mine was"."""
    if found := re.match(rf"[Tt]he ([a-z]+) of (?:the )?({NAME})(?= (?:is|was|has)\b)", body):
        whole = names.display(strip(found[2]))
        is_clear = found[1] not in OF_KINDS and strip(found[2]) not in names.persons
        return Clause(f"the {found[1]} of {whole}", found[0], body[found.end() :], time) if whole and is_clear else None
    kinds = "|".join(sorted(KINDS, key=len, reverse=True))
    found = re.match(rf"[Tt]he ({NAME} (?:(?:{'|'.join(MODIFIERS)}) )?(?:{kinds}))(?= )", body)
    return _make(names, found[1], body[found.end() :], time) if found else None


def _pronoun(body: str, names: Names, time: str, previous: tuple[Clause | None, str]) -> Clause | None:
    """Resolve "It" or "She" to the subject of the previous sentence if the reference is unambiguous."""
    clause, read = previous
    found = re.match(r"(It|He|She|it|he|she)(?= )", body)
    if found and clause is None and found[1] in ("He", "She") and (own := _person_of_title(names, read)):
        return _make(names, own, body[found.end() :], time)
    if found is None or clause is None or clause.is_person != (found[1].lower() in ("he", "she")):
        return None
    is_defined = read == names.sentences[0] and re.match(" (?:is|was) an? ", clause.rest) is not None
    if not (is_defined and clause.name in names.title) and _is_ambiguous(clause, read, names):
        return None
    return clause._replace(rest=body[found.end() :], time=time)


def _is_ambiguous(clause: Clause, read: str, names: Names) -> bool:
    """Check whether a pronoun in the next sentence could refer to something other than the subject of this one."""
    if " of " in clause.name:
        return True
    others = {strip(match[0]) for match in re.finditer(NAME, read)} - {"", clause.name}
    others = {name for name in others if name in names.names and name not in clause.name.split()}
    if clause.is_person:
        return any(other in names.persons for other in others)
    return _has_rival(read, names, others) or not clause.is_thing


def _person_of_title(names: Names, read: str) -> str:
    """Return the person in the title if a sentence mentions no one else, or an empty string."""
    own = next((name for name in names.persons if name in names.title), "")
    others = {strip(match[0]) for match in re.finditer(NAME, read)} & names.persons - {own}
    is_own = own and (own.rsplit(maxsplit=1)[-1] in read or re.match(r"(?:He|She|His|Her) ", read))
    return own if is_own and not others else ""


def _has_rival(read: str, names: Names, others: set[str]) -> bool:
    """Check whether a sentence mentions anything other than its subject that "it" could refer to."""
    things = {name for name in others if name not in names.persons}
    things = {
        name for name in things if not re.search(rf"\b(?:by|in|at|from) (?:the )?(?:[a-z]+ )*{re.escape(name)}", read)
    }
    read = read.replace("one of the ", "")
    introduced = re.search(
        r", an? [a-z-]+|\b(?:for|of|with|on|through|into|has|had|shows) (?:the|an?) [\w-]+|\bwhich\b", read
    )
    return bool(things) or introduced is not None


_PLAIN = r"(?:[^,;.]|(?<=\d)[,.](?=\d))+"
_RELATIVE = re.compile(
    rf"(?P<lead>\b[\w-]+ (?:the )?)?(?P<name>{NAME}), "
    rf"(?:(?:which|who) (?P<rest>{_VERB}{_PLAIN})|(?P<short>(?:{_PARTICIPLES}) (?:in|by|on)\b{_PLAIN}))"
)
# Nouns such as "owner" in "the owner of Copperhill, which opened in 1950", where the relative clause describes
# Copperhill, not the owner.
_BEFORE_OF = (
    rf"(?:{'|'.join(OF_KINDS)}|construction|opening|part|summit|shore|owner|member|subsidiary|outskirts|charge|director"
    r"|head|president|chairman)"
)


def _relative_clauses(sentence: str, names: Names) -> Iterator[Clause]:
    """Yield the clauses about a name inside a sentence, e.g. "Orsa, which has 64 employees," or "X, built in 1962,"."""
    for found in _RELATIVE.finditer(sentence):
        name, lead = strip(found["name"]), (found["lead"] or "").split()
        others = ("and", "or", "&", "by") if found["short"] else ("and", "or", "&")
        if not found["name"].endswith(name) or (lead and lead[0] in others):
            continue
        if "of" in lead[:1] and not re.search(rf"\b{_BEFORE_OF} of (?:the )?{re.escape(name)},", sentence):
            continue
        rest = f" {found['rest']}" if found["rest"] else f" was {found['short']}"
        clause = _make(names, name, rest)
        if clause and (clause.is_thing or clause.is_person or not found["rest"] or "which" in found[0]):
            yield from _split(clause)


def _split(clause: Clause) -> Iterator[Clause]:
    """Yield the statements in a clause, e.g. the two in "was opened in 1898 and electrified in 1951"."""
    rest = re.sub(r"^ (?:now|today|also|currently) ", " ", clause.rest)
    parts = re.split(
        rf",? and (?=(?:{_VERB}|(?:{_PARTICIPLES}) (?:in|on|by)\b))|, (?=(?:has|is|was|covers|employs|weighs|cost)\b)",
        rest,
    )
    be = re.match(rf" (was|were) (?:{_PARTICIPLES})\b", clause.rest)
    others = re.compile(r"\b(?:which|who|where|whose|that|when|while|because|after|before|until)\b")
    for number, part in enumerate(parts):
        rest = f" {part.strip()}" if part.strip() else ""
        if number and be and re.match(rf" (?:{_PARTICIPLES}) (?:in|on|by)\b", rest):
            rest = f" {be[1]}{rest}"
        if number and (others.search(parts[number - 1]) or re.match(" have| do", rest)):
            return  # the verb may belong to another subject
        yield clause._replace(rest=rest, is_first=number == 0)
