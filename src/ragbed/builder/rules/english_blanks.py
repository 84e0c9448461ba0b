"""Write questions that ask for a value omitted from an English sentence: a year, date, number, amount, person or title.

The question quotes the sentence and names the title of its text. A sentence is used only if it can be understood
without the sentences around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.builder.rules.computable import is_computable
from ragbed.builder.rules.english_names import Names, strip
from ragbed.builder.rules.english_quoted_values import Blank, find_values, is_range
from ragbed.builder.rules.english_words import (
    CAP,
    GENERAL,
    MONTH,
    NAME,
    NOT_NAMES,
    NOT_STATED,
    UNIVERSAL,
    UNSURE,
    VERB,
    is_distinctive,
)
from ragbed.builder.rules.facts import BLANK, Fact

_WORDS = (5, 45)  # minimum and maximum number of words in a sentence
_MAX_TITLE = 16  # maximum length, in words, of a title in a question
# Minimum number of content words in a title without names, and in a sentence from which the value has been removed.
MIN_CONTENT = 3
# Words at the start of a sentence that refer to the sentence before it.
_OPENING = re.compile(
    r"(?:And|But|So|Yet|Or|Nor|One|Two|Three|Four|Five|Some|Many|Most|All|Each|Every|Several|Half|More|Fewer|Another"
    r"|At first|By then|After that|In all|In total|In addition|Of (?:the|these|those)|Among|From then|Since then"
    r"|Within|Soon|First|Second|Third|Finally|Only|Construction|Work)\b(?! (?:of|on) (?:the )?[A-Z])"
)
# Words that refer to another sentence or to the time of writing.
_ELSEWHERE = re.compile(
    r"\b(?:this|these|those|such|then|now|today|ago|another|others?|same|also|again|still|already|latter|former"
    r"|formerly|previous|previously|later|earlier|follow(?:s|ed|ing)|next|recently|currently|current|present|meanwhile"
    r"|instead|here|there(?! (?:were|was|are|is)\b)|too|thus|therefore|however|so far|we|our|us|I|you|your|my|remaining"
    r"|respectively|likewise|afterwards|thereafter|eventually|subsequently|it|they|them|him|both|neither|either|nearby"
    r"|none|nobody|that (?:year|time|day|month|period|decade|point|date|summer|winter|night|season)"
    r"|the (?:following|rest|others?|result))\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\b(?:he|she|her|his|its|their|himself|herself|themselves|itself)\b", re.IGNORECASE)
_UNITS = frozenset({"Celsius", "Fahrenheit"})
_ENDING = (
    "of|in|at|near|between|below|above|behind|beneath|across|along|around|outside|inside|that|which|who|whose|where"
)
_RANKED = re.compile(
    r"(?:first|last|only|largest|oldest|highest|longest|tallest|deepest|smallest|youngest|earliest|biggest|worst|best"
    r"|most|main|original|final|second|third)\b"
    r"(?! (?:[a-z-]+ )?(?:years?|decades?|months?|weeks?|days?|hours?)\b)"
)
_ARTICLE = re.compile(r"\b[Tt]he (?P<words>[a-z][\w’'-]*(?: [a-z][\w’'-]*){0,5})?(?P<after>,? ?[^ ,]*)")
_FUNCTION = re.compile(
    rf"(?:{_ENDING}|on|by|for|with|from|to|and|or|but|as|after|before|since|until|under|over|into|onto|through|during"
    r"|when|while|because|was|were|is|are|had|has|have|did|does|do|can|could|would|will|may|might|than|up|down|out|off"
    r"|against|about|[a-z]+ed|took|began|became|made|ran|won|lost|held|sold|built|fell|grew|led|gave|went|came|stood"
    r"|lay|rose|kept|left|met|paid|set|sent|struck|sank|broke|brought|bought|caught|wrote|spent|spread)\b"
)


# Sentences that describe a recurring event but do not identify a single occurrence of it.
_REPEATED = re.compile(r"^(?:\S+ ){1,5}(?:erupted|took place|was held|were held) (?:in|on) [\w ]+\.$")


_AFTER_THE = re.compile(r"\b[Tt]he ([a-z-]+)(?: ([a-z-]+))?")


_NO_CONTENT = re.compile(
    r"(?i)\b(?:with|from|that|this|these|those|their|there|they|them|than|then|were|have|been|when|what|which|where|also"
    r"|the|and|for|was|not|but|all|are|has|had|its|our|out|who|how|why|you|his|her|one|two|new|off|per|any|she|now|via|did|can"
    r"|into|over|only|each|both|some|such|more|most|very|just|about|after|before|during|under)\b"
)


def find_blanks(sentence: str, names: Names, subject: str = "") -> Iterator[Fact]:
    """Yield a question for each value that can be left out of a sentence and asked for.

    Args:
        sentence: The sentence.
        names: The names of the text.
        subject: What the pronoun at the start of the sentence refers to; empty if it is unknown.
    """
    text = sentence
    if subject:
        text = re.sub(r"^(?:It|He|She)\b", subject[0].upper() + subject[1:], sentence)
    is_size = _WORDS[0] <= len(text.split()) <= _WORDS[1]
    if not is_size or not re.fullmatch(r"[A-Z“\"].*[a-z0-9)”\"%]\.", text) or _OPENING.match(text):
        return
    if re.search(r"[\[\]|:?!•…*_]|\.\.|\bsaid\b|[“\"][^”\"]*$", text):
        return
    title = _usable_title(names)
    if not VERB.search(text) or NOT_STATED.search(text) or not is_clear(text, names, title) or _REPEATED.search(text):
        return
    for blank in find_values(text, names):
        if fact := _ask(text, blank, names, title):
            yield fact._replace(sentence=sentence)


def _ask(sentence: str, blank: Blank, names: Names, title: str) -> Fact | None:
    answer = sentence[blank.start : blank.end]
    before, after = sentence[: blank.start], sentence[blank.end :].rstrip(".")
    clause = re.split(r"[,;](?! ?\d)", after)[0]
    if is_range(before, after):
        return None
    if UNSURE.search(re.sub(r"[“\"][^”\"]*[”\"]|\b(?:took|taken|handed) over\b", "", before + clause)):
        return None
    if blank.is_in(f"{before} {after}"):
        return None
    if blank.is_in(title):
        title = ""
    if not _has_subject(before + BLANK + after, names, title):
        return None
    quoted = re.sub(r"[“\"]([^”\"]*)[”\"]", r"‘\1’", f"{before}{BLANK}{after}")
    if not title and not blank.is_in(names.title):
        title = quotable_title(names.title)
    source = f"this sentence from “{title}”:" if title else "the sentence"
    asked = f"{blank.ask} completes {source} “{quoted}”?"
    return None if is_computable(asked, answer, "en") else Fact(asked, answer, sentence, rank=1)


def _usable_title(names: Names) -> str:
    """Return the title, or an empty string if it is missing, too long for a question or without a specific name."""
    title = names.title
    if re.search(r"[|“”\"?!<>{}\[\]_]|\.\w|https?:", title) or len(title.split()) > _MAX_TITLE:
        return ""
    words = [word for word in re.findall(CAP, title) if word not in NOT_NAMES and is_distinctive(word)]
    own = set(re.findall(r"\w+", names.full))
    pairs = re.findall(rf"(?=\b({CAP} {CAP}))", title)
    is_specific = any(word in own and word.lower() not in own for word in words)
    return title if is_specific or any(names.full.count(pair) > 1 for pair in pairs) else ""


def quotable_title(title: str) -> str:
    """Return the title if it identifies the text, or an empty string if it is missing, too long or too generic."""
    title = re.sub(r"[“\"]([^“”\"]*)[”\"]", r"‘\1’", re.sub(r"[*_]+(?=\S)|(?<=\S)[*_]+", "", title))
    title = " ".join(title.split()).rstrip(".")
    if re.search(r"[|<>{}\[\]_“”\"]|\.[A-Za-z]|https?:", title) or len(title.split()) > _MAX_TITLE:
        return ""
    named = re.search(rf"{CAP} {CAP}", title)
    is_specific = len(content_words(title)) >= MIN_CONTENT or (named is not None and is_distinctive(named[0]))
    return title if is_specific else ""


def content_words(text: str) -> list[str]:
    """Return the words of at least three letters in a text, without function words."""
    words = re.findall(r"[^\W\d_][\w’'-]{2,}", _NO_CONTENT.sub(" ", text))
    return [word for word in words if word not in NOT_NAMES]


def needs_context(sentence: str) -> bool:
    """Check whether a sentence contains words that refer to another sentence."""
    return any(pattern.search(sentence) for pattern in (_ELSEWHERE, _PRONOUN)) or _OPENING.match(sentence) is not None


def is_clear(sentence: str, names: Names, title: str) -> bool:
    """Check that every pronoun and definite phrase in a sentence can be understood from the sentence and its title."""
    if _ELSEWHERE.search(sentence):
        return False
    if pronoun := _PRONOUN.search(sentence):
        own = [found.start() for found in re.finditer(NAME, sentence) if _is_known(found[0], names)]
        if not own or min(own) > pronoun.start():
            return False
    capitals = _stems(" ".join(re.findall(r"(?<!^)\b[A-Z][\w’'-]+", sentence)))
    known = {*capitals, *_stems(title), *(_defined(names) if title else ())}
    return all(_is_definite(found, sentence, known, bool(title)) for found in _ARTICLE.finditer(sentence))


def _defined(names: Names) -> list[str]:
    """Return the noun in the first sentence that defines the subject, e.g. "manuscript" in "X is a manuscript of"."""
    found = re.match(
        rf"(?:The )?({NAME}) (?:is|was) (?:an?|the) ((?:[\w-]+ )*?[\w-]+)(?=[,.]| {_FUNCTION.pattern})", names.full
    )
    return _stems(found[2])[-1:] if found and found[1] in names.title else []


def _is_known(name: str, names: Names) -> bool:
    """Check that a string is a name in the text, or the family name of a person who is named there."""
    name = strip(name)
    return name in names.names or any(person.endswith(f" {name}") for person in names.persons)


def _stems(text: str) -> list[str]:
    return [word.lower().rstrip("s") for word in re.findall(r"[A-Za-z][\w’'-]+", text)]


def _is_definite(found: re.Match[str], sentence: str, known: set[str], has_title: bool) -> bool:
    """Check that a phrase with "the" is a name, is explained by the words after it, or refers to something known."""
    words: list[str] = []
    rest = sentence[found.start() + 4 :]
    for word in rest.split(" "):
        bare = word.rstrip(",.;")
        if not bare or not bare[0].islower() or (words and _FUNCTION.fullmatch(bare)):
            break
        words.append(bare)
        if bare != word:
            break
    if not words:
        return True  # a name or a number follows "the"
    after = rest[len(" ".join(words)) :]
    if re.match(
        rf" of | (?:{_ENDING})\b(?! (?:early |late )?(?:\d|{MONTH}))| [A-Z“]|, (?:(?:an?|the|one) |{NAME},)", after
    ):
        return True
    head = words[-1]
    stem = head.rstrip("s")
    if (has_title and _RANKED.match(" ".join(words))) or head in UNIVERSAL or re.fullmatch(r"\d+s|[a-z]+teenth", head):
        return True
    before = sentence[: found.start()].lower()
    is_object = (
        re.search(r"[a-z]", re.sub(rf"^in \d+,?|^on [^,]*\d{{4}},?|^in {MONTH.lower()} \d+,?", "", before)) is not None
    )
    if has_title and is_object and (len(words) > 1 or stem not in GENERAL):
        return True  # the phrase denotes a part of the subject, e.g. "the receiver" of a telescope
    return stem in known or any(word.startswith(stem) for word in before.split())


def _has_subject(text: str, names: Names, title: str) -> bool:
    """Check that a sentence contains a specific name or is about something in the title."""
    found = [strip(name) for name in re.findall(NAME, text) if _is_known(name, names) and name not in _UNITS]
    if any(" " in name and is_distinctive(name) for name in found):
        return True
    nouns = [word for word in (*_stems(title), *_defined(names)) if len(word) > 3]
    own = (word.rstrip("s") for found_the in _AFTER_THE.findall(text) for word in found_the)
    is_own = not set(nouns).isdisjoint(own)
    body = re.sub(rf"^(?:[A-Z][a-z]+ )[^,]*?{BLANK},? (?=[a-z])", "", text)
    is_new = re.match(rf"[Aa]n? (?!(?:year|month|day|week|few)\b)|[Tt]he {_RANKED.pattern}", body) is not None
    return bool(title) and (bool(found) or is_own or is_new)
