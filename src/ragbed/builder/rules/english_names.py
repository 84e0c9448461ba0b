"""Find the names in an English text, and determine what the subject of a sentence refers to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ragbed.text import split_sentences


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CAP = r"(?:[A-Z][\w’'-]*|[A-Z]\.)"
NAME = rf"{CAP}(?:(?: (?:of|the|of the|de|del|la|le|van|van der|von|am|&))? (?:{CAP}|\d+(?![\d.,]*\d* ?[a-z%])))*"
PERSON = rf"{CAP}(?: (?:de|van|van der|von|al-)?(?: ?{CAP}))+"
MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
DAY = rf"(?:\d{{1,2}} {MONTH}|{MONTH} \d{{1,2}},?) \d{{4}}"
YEAR = r"[12]\d{3}(?![\d.,]*\d)"
WHEN = rf"(?P<when>on (?P<day>{DAY})|in (?P<month>{MONTH} {YEAR})|in (?P<year>{YEAR}))"
NUMBER = r"\d[\d,]*(?:\.\d+)?(?: (?:hundred|thousand|million|billion))?"
END = (
    r"(?=[,;.]|$| (?:and|but|with|from|after|for|by|when|while|where|on|in|between|at|near|as|until|according|among|who"
    r"|which|that|because|since|to|under|over|instead|through|during)\b)(?! (?:and|or|to) (?:again )?(?:in )?[12]\d{3})"
)
STOP = (
    r"(?=[,;.](?! [A-Z])|$| (?:in|on|between|for|from) (?:the )?\w* ?\d| and (?:was|is|has|had|cost|opened|carries)\b)"
)

# Words that make a statement a plan, a guess, hearsay or a denial.
UNSURE = re.compile(
    r"\b(?:will|would|may|might|could|should|shall|must|can|plans?|planned|planning|expect\w*|forecast\w*|predict\w*"
    r"|probably|perhaps|possibly|likely|believe[sd]?|thought to|estimate[sd]?|estimates|about|around|roughly|nearly"
    r"|almost|approximately|over|more than|at least|up to|fewer than|less than|legend|rumou?r\w*|allegedly|reportedly"
    r"|said to|if|unless|whether|not|never|nobody|no|none|nothing|without|hopes?|hoped|wants?|intends?|aims?|due to be"
    r"|is to|are to|provisional\w*|preliminary|proposed|under discussion|claim(?:s|ed)?)\b",
    re.IGNORECASE,
)
# Words whose meaning depends on the surrounding text.
DEPENDENT = re.compile(
    r"\b(?:he|she|it|they|we|i|you|his|her|its|their|our|my|him|them|us|this|that|these|those|there|here|then|now|today"
    r"|yesterday|tomorrow|ago|last|next|later|earlier|previous|former|another|other|same|also|still|again|latter|one"
    r"|ones|such|so far|already|recently|currently|current|present|second|third|half|each|every)\b",
    re.IGNORECASE,
)
_LOWER_NAME_WORDS = frozenset({"of", "the", "and", "de", "la", "le", "van", "der", "von", "am"})
NOT_NAMES = _words(
    "The A An It He She They We In On At But And This That These Those Since Until After Before During For From"
    " With Each Every All Both Some Most Many More Another Other Its His Her Their Our My There Here When While"
    " If Up Under Between Among About According Construction Today Claims Requests Private Visitors Customers"
    " Researchers Analysts Experts Admission Work Second First Last Next Nobody Only One Two Three Four Five Six"
    " Seven Eight Nine Ten Eleven Because Although Though Once As Like Despite Following Now Then So Yet Not To"
    " By Also Even Still Just Who What Where Twelve Half Earlier Later However Meanwhile Questions People"
    " Children Parents"
)

TITLES = (
    r"(?:Mr|Mrs|Ms|Dr|Prof|Professor|Sir|Dame|Lord|Lady|Mayor|President|Minister|Prime Minister|Judge|Captain"
    r"|Count|King"
    r"|Queen|Chancellor|General|Senator|Governor|Chief|Director|Inspector|Transport Minister)\.?"
)
ORGANISATION = re.compile(
    r"\b(?:Company|Group|University|Institute|Foundation|Bank|Council|Ministry|Agency|Centre|Center|Museum|Academy"
    r"|Society|Association|Club|School|Hospital|Corporation|Fund|Ltd|Inc|GmbH|Software|Logistics|Energy|Power|Rail"
    r"|Airlines|Foods|Shipyard|Observatory|Office|Authority|Union|Party|Alliance|League|FC)\b"
)
# Nouns that precede a person's name, and how to ask for that person.
PEOPLE = (
    r"(?:[a-z-]+ )?(?:architect|engineer|surveyor|teacher|nurse|chemist|physicist|zoologist|astronomer|novelist|writer"
    r"|author|poet|painter|sculptor|composer|critic|publisher|historian|jurist|lawyer|judge|banker|biologist|botanist"
    r"|ornithologist|oceanographer|paediatrician|doctor|surgeon|weaver|brewer|puppeteer|ranger|artist|director|producer"
    r"|photographer|designer|inventor|explorer|monk|priest|bishop|count|king|queen|mathematician|economist|geologist"
    r"|journalist|politician|detective|scientist|philosopher|pianist|conductor|merchant|farmer|captain|pilot)"
)
BODIES = r"(?:company|manufacturer|firm|contractor|shipyard|institute|university|club|utility|bank|consortium)"


class Subject(NamedTuple):
    """The subject of a sentence."""

    text: str  # as written in a question
    rest: str  # the sentence after the subject
    time: str  # a time expression at the start of the sentence, e.g. "in 2019"


class Sentences:
    """The sentences of a text and the names in it."""

    def __init__(self, title: str, text: str) -> None:
        self.sentences = [text[start:end].strip() for start, end in split_sentences(text)]
        self.full = f"{title}. {text}"
        inner = re.compile(rf"(?<=[a-z0-9,;:“\"(] )(?:the )?({NAME})|(?<=The )({NAME})")
        found = (match[1] or match[2] for sentence in self.sentences for match in inner.finditer(sentence))
        self.names = {_strip(name) for name in found}
        starts = (re.match(NAME, sentence) for sentence in self.sentences)
        self.names |= {_strip(match[0]) for match in starts if match and " " in _strip(match[0])}
        self.names.discard("")

    def is_name(self, text: str) -> bool:
        """Check that a text is a complete name, not the start or end of a longer one."""
        if text not in self.names or text in NOT_NAMES:
            return False
        longer = [name for name in self.names if name != text and name.split()[-len(text.split()) :] == text.split()]
        return not (" " not in text and longer)

    def resolve(self, noun: str, before: str) -> str | None:
        """Return the only name that a noun such as "bridge" can refer to, given the preceding text."""
        word = noun.rsplit(maxsplit=1)[-1]
        last = re.escape(word)
        ending = {name for name in self.names if name.lower().endswith(f" {word}")}
        typed = set(re.findall(rf"\b[Tt]he {last} ({CAP}(?: {CAP})*)", self.full))
        defined = set(re.findall(rf"(?:The )?({NAME}) (?:is|was) (?:an?|the) (?:[a-z-]+ )?{last}\b", self.full))
        with_noun = {f"{name} {noun}" for name in re.findall(rf"\b[Tt]he ({NAME}) {last}\b", self.full)}
        names = {_strip(name) for name in ending | typed | defined | with_noun} - {""}
        names = {name for name in names if not any(name != other and name in other for other in names)}
        others = rf"\b(?:an?|another|second|third|old|other|two|three|four|several|many) (?:[a-z-]+ )?{last}s?\b"
        introduced = rf" (?:is|was) an? (?:[a-z-]+ )?{last}\b"
        if len(names) != 1 or re.search(others, re.sub(introduced, "", before), re.IGNORECASE):
            return None
        return self.with_article(*names)

    def is_person(self, name: str) -> bool:
        """Check whether the text treats a name as a person's name."""
        own = re.escape(name)
        evidence = (
            rf"said (?:[a-z -]*)?(?:{TITLES} )?{own}\b|\b{own} (?:said|was born|died|\()|\b{own}, (?:who"
            rf"|a daughter|a son)\b"
            rf"|(?:{PEOPLE}|{TITLES}) {own}\b|\b(?:led|headed|chaired|founded|designed|written) by {own}\b"
        )
        is_two_words = re.fullmatch(PERSON, name) is not None and not ORGANISATION.search(name)
        return is_two_words and re.search(evidence, self.full) is not None

    def with_article(self, name: str) -> str:
        """Write a name with its article if the text does so."""
        if re.search(rf"(?:[a-z,“\"] |^)The {re.escape(name)}\b", self.full):
            return f"The {name}"  # the article is part of a title
        follows = r"(?=[,.;]| (?:is|was|has|were|are|in|on|at|and|with|to|by|from|will|had|cost|took|belongs|covers)\b)"
        return f"the {name}" if re.search(rf"\b[Tt]he {re.escape(name)}{follows}", self.full) else name


def _strip(name: str) -> str:
    """Remove words at the start of a name that are capitalised only because they start a sentence."""
    words = name.split()
    while words and (words[0] in NOT_NAMES or words[0] in _LOWER_NAME_WORDS):
        words.pop(0)
    while words and words[-1] in _LOWER_NAME_WORDS:
        words.pop()
    return re.sub(r"['’]s$", "", " ".join(words))


_FRONT = re.compile(rf"(?:(?:In|On) (?:{DAY}|{MONTH} {YEAR}|{YEAR}),? )(?=\S)")


def find_subject(sentence: str, read: Sentences, before: str, previous: Subject | None) -> Subject | None:
    """Return the subject of a sentence as a full name, or None if it is unclear what it refers to."""
    front = _FRONT.match(sentence)
    time = "" if front is None else front[0][0].lower() + front[0][1:].strip().rstrip(",")
    body = sentence[front.end() :] if front else sentence
    if found := re.match(rf"(?:[Tt]he )?(?:{TITLES} )*({NAME})(?=,? )", body):
        name = _strip(found[1])
        if name == found[1].removeprefix("The ") and read.is_name(name) and _is_clear(name, body[found.end() :], read):
            place = re.match(rf" (?:in|on|near) {NAME}(?= (?:is|was|has|were|are)\b)", body[found.end() :])
            rest = body[found.end() + (place.end() if place else 0) :]
            rest = re.sub(r"^, (?:which|who|the|a|an) [^,]*,", "", rest)
            return Subject(read.with_article(name) + (place[0] if place else ""), rest, time)
    if found := re.match(rf"[Tt]he ([a-z]+(?: [a-z]+)?) of (the )?({NAME})(?= (?:is|was|has|are|were)\b)", body):
        return Subject(f"the {found[1]} of {found[2] or ''}{found[3]}", body[found.end() :], time)
    if found := re.match(rf"[Tt]he ({NAME} [a-z]+)(?= (?:is|was|has|were|are|covers|belongs)\b)", body):
        return Subject(f"the {found[1]}", body[found.end() :], time)
    if found := re.match(r"[Tt]he ([a-z]+)(?= )", body):
        known = read.resolve(found[1], before)
        return None if known is None else Subject(known, body[found.end() :], time)
    is_person = previous is not None and read.is_person(previous.text)
    return _find_pronoun(body, previous, time, is_person=is_person)


_ALONE = re.compile(
    r"(?:,[^,]*,)? (?:was|is) (?:founded|established|released|launched|based|headquartered|opened|acquired"
    r"|built|developed"
    r"|created|introduced|an? |the |located)|(?:,[^,]*,)? has (?:acquired|recalled|ordered|\d)"
    r"|(?:,[^,]*,)? (?:covers|lies|carries|is \d)"
)
_WEB_WORDS = _words("Read More Post Photo Image Getty Subscribe Watch Credit Advertisement Share Follow Video News")


def _is_clear(name: str, rest: str, read: Sentences) -> bool:
    """Check that a name is clear: it has no typical web-page words, and a single word must denote a thing."""
    if not _WEB_WORDS.isdisjoint(name.split()):
        return False
    return " " in name or (_ALONE.match(rest) is not None and read.full.count(name) > 1) or name[0].isdigit()


def _find_pronoun(body: str, previous: Subject | None, time: str, *, is_person: bool) -> Subject | None:
    """Resolve "It" and "Its keep" to the subject of the previous sentence, and "She" only to a person."""
    found = re.match(r"(It|He|She|it|he|she|Its|its)(?: ([a-z]+))? ", body)
    if found is None or previous is None:
        return None
    name = previous.text
    word = found[1].lower()
    if is_person != (word in ("he", "she")) or " of " in name:
        return None
    if word == "its":
        return Subject(f"the {found[2]} of {name}", body[found.end() - 1 :], time) if found[2] else None
    return Subject(name, body[found.end(1) :], time)


def relative_clauses(sentence: str, read: Sentences) -> Iterator[Subject]:
    """Yield the names that a clause starting with "which" or "who" describes."""
    for found in re.finditer(
        rf"({NAME}), (?:which|who)(?P<rest> (?:was|has|opened) (?:[^,;.]|(?<=\d)[,.](?=\d))+)", sentence
    ):
        name = _strip(found[1])
        if (
            read.is_name(name)
            and _is_clear(name, found["rest"], read)
            and not re.search(r"\b(?:in|by|to) $", sentence[: found.start()])
        ):
            yield Subject(read.with_article(name), found["rest"], "")
