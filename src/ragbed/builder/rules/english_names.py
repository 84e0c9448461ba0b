"""Find the names in an English text, and determine how a question can refer to each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from ragbed.builder.rules.english_words import (
    CAP,
    COMPANIES,
    DOUBTED,
    KINDS,
    LOWER_NAME_WORDS,
    MODIFIERS,
    NAME,
    NOT_NAMES,
    OF_KINDS,
    ORGANISATION,
    PEOPLE,
    PERSON,
    RANKS,
    SEVERAL,
    TITLES,
    WITH_ARTICLE,
    is_distinctive,
)
from ragbed.builder.rules.facts import strip_markup
from ragbed.text import split_sentences

_KIND = "|".join(sorted(KINDS, key=len, reverse=True))
_HEADS = "|".join(kind.capitalize() for kind in KINDS)
# Words that can follow a complete noun phrase.
_FOLLOWS = (
    r"(?=[,.;:)]|$| (?:is|was|has|had|were|are|have|in|on|at|of|and|or|but|with|to|by|from|for|as|after|before|since"
    r"|until|between|near|over|will|would|can|could|which|who|that|took|cost|began|won|belongs|covers|lies|holds"
    r"|carries|employs|sank|became|received|runs|connects|crosses|remained|[a-z]+ed)\b)"
)
_OF = "|".join(OF_KINDS)
_MODIFIER = "|".join(MODIFIERS)
_ADJECTIVE = r"(?!(?:from|of|in|for|at|by|with|on|that|which|to|and|near|between|the)\b)[\w-]+"
_KIND_EVIDENCE = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?<!under )(?<!after )(?<!before )(?<!during )(?<!Under )(?<!After )(?<!Before )(?<!During )"
        rf"\b(?:[Tt]he|[Aa]n?|[Ii]ts) (?P<rest>(?:[\w-]+ ){{0,2}}?)"
        rf"(?P<kind>(?:{_OF})(?= of )|(?:{_KIND})(?! of ))(?: of)? "
        # A name followed by a preposition and a capital letter may be only part of a longer title.
        rf"(?P<name>{NAME})(?![\w’'-])(?! (?:at|on|in|under|of|and|with|from|by|to) (?:the )?[A-Z])",
        rf"(?:^|[.”\"] )(?:The )?(?P<name>{NAME}) (?:is|was) (?:an?|the) "
        rf"(?P<rest>(?:{_ADJECTIVE},? ){{0,4}}?)(?P<kind>{_KIND})\b",
        rf"(?P<name>{NAME}), (?:an?|the) (?P<rest>(?:{_ADJECTIVE} ){{0,3}}?)(?P<kind>{_KIND})\b",
    )
)
_PERSON_EVIDENCE = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\bsaid (?:[a-z -]*)?(?:{TITLES} )?({PERSON})",
        rf"\b({PERSON})(?:,? said| was born| died| \(\d| studied| married| retired|, who|,? aged)\b",
        rf"\b(?:{PEOPLE}|{TITLES}) ({PERSON})",
        rf"\b({PERSON})(?:,| is| was) (?:an?|the) (?:[a-z]+ )?{PEOPLE}\b",
        rf"\b(?:led|headed|chaired|founded|designed|written|directed) by ({PERSON})",
        rf"\b(?:director|president|chair\w*|executive|head|leader|manager|coach|mayor)(?:,| is| was) ({PERSON})",
    )
)
_WEB_WORDS = {
    "Read", "More", "Post", "Photo", "Image", "Getty", "Subscribe", "Watch", "Credit", "Share", "Video", "News",
}  # fmt: skip


# Titles and quotations inside a sentence, whose full stops do not end the sentence: "appeared as *Dry. Cold.* in 1986".
_INSIDE = re.compile(
    r"(?<=[a-z,:] )(?:\*[^*\n]{1,80}\*|_[^_\n]{1,80}_|“[^“”\n]{1,80}”|\"[^\"\n]{1,80}\")(?=,|;| [a-z(])"
)
# Abbreviated units that do not end a sentence if a number or a lower-case word follows: "3s. 6d.", "5 ft. 2 in.".
_UNIT = re.compile(r"\d ?(?:s|d|ft|in|yds?|lbs?|oz|cwt|qrs?|st|h|hrs?|mins?|secs?|m|cm|mm|km|kg|g|ha|pp?)\.\s*$")
# Abbreviations whose full stop does not end a sentence: those before a number, and those before a name.
_BEFORE_NUMBER = re.compile(
    r"\b(?:[Nn]os?|[Nn]r|[Vv]ols?|[Ff]igs?|[Pp]p?|[Aa]rts?|[Pp]aras?|[Cc]h|[Cc]hap|[Ss]ecs?|[Ss]ect|[Oo]p|[Cc]l|[Cc]ol|[Ll]l?|[Tt]el"
    r"|[Ee]xt|[Rr]ef|[Vv]er|[Vv]|[Cc]|[Cc]a|[Cc]irc|[Ee]d|[Ee]st|[Aa]pprox|[Mm]ax|[Mm]in|[Aa]vg|[Ii]ncl|[Ee]xcl|[Rr]m|[Ff]l"
    r"|[Aa]pt|[Ii]nv|[Cc]at|[Bb]k|[Pp]t|[Ss]er|[Mm]s|[Ff]ol|[Ff]f?|[Bb]|[Dd]|[Kk]|[Oo]pp|[Dd]ept|[Ll]ic|[Rr]eg|[Rr]d)\.\s*$"
)
_BEFORE_NAME = re.compile(
    r"\b(?:St|Ste|Sts|Mt|Ft|Pt|Dr|Drs|Mr|Mrs|Ms|Mx|Messrs|Mme|Mlle|Prof|Rev|Revd|Fr|Br|Hon|Rt|Capt|Col|Maj|Gen|Lt|Sgt|Cpl"
    r"|Adm|Cdr|Cmdr|Cllr|Insp|Supt|Det|Gov|Sen|Rep|Pres|Bp|Abp|Eng|Ing|Arch|Vs|vs|cf|ed|eds|trans|illus|dir|feat|ft"
    r"|var|subsp|ssp|sp|cv|né|née)\.\s*$"
)
_JOINED = "\N{WORD JOINER}"  # replaces a space at which a text must not be split


def split_english(text: str) -> Iterator[str]:
    """Yield a text's sentences without markup, each on one line; full stops in quoted titles do not end sentences."""
    bare = strip_markup(_INSIDE.sub(lambda found: re.sub(r"(?<=[.?!]) ", _JOINED, found[0]), text))
    pending = ""
    for start, end in split_sentences(bare):
        part = bare[start:end]
        pending += part
        if "\n" in part[-2:] or not _continues(part, bare[end : end + 2]):
            yield " ".join(pending.replace(_JOINED, " ").split())
            pending = ""
    if pending:
        yield " ".join(pending.replace(_JOINED, " ").split())


def _continues(part: str, after: str) -> bool:
    """Check whether the full stop at the end of `part` marks an abbreviation instead of the end of a sentence."""
    if _UNIT.search(part):
        return re.match(r"\d|[“\"‘(]?[a-z]", after) is not None
    if re.match(r"[#£$€]?\d", after):
        return _BEFORE_NUMBER.search(part) is not None
    return _BEFORE_NAME.search(part) is not None and re.match(r"(?:The|It|In|On|At|He|She|They|A|An)\b", after) is None


# Words at the start of a later sentence in which another speaker contradicts a statement.
_DENIED = re.compile(
    r"(?:[A-Z][\w.’'-]*(?: [A-Z][\w.’'-]*){0,2}(?: \([^)]*\))?:? )?[“\"]?(?:No, |But |Well, )?"
    r"(?:(?:[Tt]hat|[Tt]his|[Hh]e|[Ss]he|[Tt]hey|[Yy]ou)"
    r"(?:[’']s| is| was|[’']re| are| were| got (?:it|that)| has (?:it|that)| remembers? (?:it|that)) (?:\w+ )?"
    r"(?:wrong|mistaken|untrue|incorrect"
    r"|nonsense|false|not (?:true|right|so|correct|how))|[Ww]rong|[Nn]ot true|[Nn]onsense)\b"
)
_SPEAKER = re.compile(r"(?P<who>[A-Z][\w.’'-]*(?: [A-Z][\w.’'-]*){0,2})(?: \([^)]*\))?: ")
_FIRST_PERSON = re.compile(r"\b(?:I|we|We|my|My|our|Our|me|us)\b")
_NEXT = 3  # number of sentences to check for a contradiction after a statement


class Names:
    """The sentences and names in a text.

    Args:
        title: Title of the text.
        text: The text.
    """

    def __init__(self, title: str, text: str) -> None:
        self.title = title
        self.sentences = list(split_english(text))
        self.full = " ".join(self.sentences)

    def is_denied(self, sentence: str) -> bool:
        """Check whether one of the sentences after a statement says that the statement is wrong."""
        place = self.sentences.index(sentence) + 1
        if DOUBTED.match(" ".join(self.sentences[place : place + 1])):
            return True
        return any(map(_DENIED.match, self.sentences[place : place + _NEXT]))

    def has_speaker(self, sentence: str) -> bool:
        """Check whether a sentence starts with the name of the person who says it, as in an interview."""
        label = _SPEAKER.match(sentence)
        if label is None:
            return False
        rest = sentence[label.end() :]
        is_repeated = len(re.findall(rf"(?:^|[.?!”\"] ){re.escape(label[0])}", self.full)) > 1
        return label["who"] in self.persons or is_repeated or _FIRST_PERSON.search(rest) is not None

    @cached_property
    def names(self) -> frozenset[str]:
        """The complete names: all names inside sentences, and multi-word names at the start of sentences."""
        inner = re.compile(rf"(?<=[a-z0-9,;:“\"(] )(?:the )?({NAME})|(?<=The )({NAME})")
        found = {strip(match[1] or match[2]) for one in self.sentences for match in inner.finditer(one)}
        starts = (re.match(NAME, sentence) for sentence in self.sentences)
        found |= {strip(match[0]) for match in starts if match and " " in strip(match[0])}
        # Names that end with a noun in lower case, e.g. "the Copperhill mine".
        with_noun = re.finditer(rf"\b[Tt]he ({NAME} (?:(?:{_MODIFIER}) )?({_KIND})){_FOLLOWS}", self.full)
        found |= {match[1] for match in with_noun if strip(match[1]) == match[1] and match[2] not in SEVERAL}
        return frozenset(found - {""} - NOT_NAMES)

    @cached_property
    def persons(self) -> frozenset[str]:
        """The names that the text treats as names of people."""
        found = {strip(match[match.lastindex or 0]) for one in _PERSON_EVIDENCE for match in one.finditer(self.full)}
        return frozenset(name for name in found & self.names if _can_be_person(name))

    def is_name(self, text: str) -> bool:
        """Check that a string is a complete name, not part of a longer one."""
        if text not in self.names or not _WEB_WORDS.isdisjoint(text.split()):
            return False
        words = text.split()
        longer = [name.split() for name in self.names if name != text]
        if len(words) == 1:
            longer = [name for name in longer if "of" not in name]
            if any(name.split()[0] == text for name in self.persons):
                return False
        return not any(name[-len(words) :] == words for name in longer)

    def kind_of(self, name: str) -> str:
        """Return the kind of thing that a name denotes, e.g. "paper mill", or an empty string if it is unknown."""
        kinds = self._kinds.get(name, set())
        if len({kind.rsplit(maxsplit=1)[-1] for kind in kinds}) == 1:
            return max(kinds, key=len)
        head = name.rsplit(maxsplit=1)[-1].lower()
        return head if " " in name and head in KINDS else ""

    @cached_property
    def _kinds(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for match in (match for pattern in _KIND_EVIDENCE for match in pattern.finditer(self.full)):
            words = [word for word in match["rest"].split()[-1:] if word in MODIFIERS]
            found.setdefault(strip(match["name"]), set()).add(" ".join((*words, match["kind"])))
        return found

    def place_of(self, name: str) -> str:
        """Return the location of a named thing according to the text, or an empty string if unknown."""
        own = re.escape(name)
        end = r"(?=[,.;]| (?:is|was|has|that|which)\b)"
        place = rf"(?:the (?:town|city|village|port|island) of )?({CAP}(?: {CAP}){{0,2}}){end}"
        found = re.search(rf"{own},? (?:(?:is|was) )?(?:(?:an?|the) [^,.;]*? )?in {place}", self.full)
        return found[1] if found and is_distinctive(found[1]) and found[1] not in NOT_NAMES else ""

    def display(self, name: str) -> str:
        """Return a name in the form to use in a question, with its type or place if needed, or "" if ambiguous."""
        if not self.is_name(name):
            return ""
        if name in self.persons:
            return name
        kind, is_single = self.kind_of(name), " " not in name
        has_head = not is_single and name.rsplit(maxsplit=1)[-1].lower() in KINDS
        if is_distinctive(name):
            if is_single and not kind:
                return ""
            if kind and not has_head and not re.search(rf"^(?:{_HEADS})\b|{ORGANISATION.pattern}", name):
                return f"the {kind} of {name}" if kind in OF_KINDS else f"the {kind} {name}"
            return self.with_article(name)
        place = self.place_of(name)
        return f"{self.with_article(name)} in {place}" if kind and place and not is_single else ""

    def is_thing(self, name: str) -> bool:
        """Check that the text says what kind of thing the name denotes."""
        return bool(self.kind_of(name)) or bool(re.match(r"(?:Lake|Mount|River|Cape|St|Castle|Hotel) ", name))

    def with_article(self, name: str) -> str:
        """Return a name with its article, if it takes one."""
        own = re.escape(name)
        if re.search(rf"\b[Tt]he {own}{_FOLLOWS}", self.full):
            return f"the {name}"
        is_bare = re.search(rf"\b(?:of|in|at|by|to|from|for|near|with|and|that|when|where|while) {own}\b", self.full)
        head = name.rsplit(maxsplit=1)[-1].lower()
        return f"the {name}" if " " in name and head in WITH_ARTICLE and not is_bare else name

    def resolve(self, noun: str, before: str) -> str:
        """Return the only name in the preceding text that a noun such as "bridge" can refer to, or an empty string."""
        read = f"{self.title}. {before}"
        own = {name for name in self.names if name in read}
        found = {name for name in own if self.kind_of(name).split()[-1:] == [noun]}
        if noun in COMPANIES:
            found |= {name for name in own if self._may_be_company(name)}
        found = {name for name in found if not any(name != other and name in other for other in found)}
        article = r"(?:an?|another|second|third|old|new|other|two|three|four|five|several|many|[Ii]ts|older|first)"
        others = rf"\b{article} (?:[\w-]+ ){{0,2}}?{noun}s?\b"
        introduced = (
            rf"(?: (?:is|was)|,) an? (?:[\w-]+ ){{0,4}}?{noun}\b|\b(?:a|an|the) (?:[\w-]+ ){{0,2}}?{noun} [A-Z]"
        )
        if len(found) != 1 or re.search(others, re.sub(introduced, "", before)):
            return ""
        name = found.pop()
        recent = " ".join(before.split(" ")[-90:])
        return name if re.search(rf"{re.escape(name)}|\b[Tt]he {noun}\b", recent) else ""

    def _may_be_company(self, name: str) -> bool:
        kind = self.kind_of(name).split()[-1:]
        is_other = bool(kind) and kind[0] not in COMPANIES
        return not is_other and name not in self.persons and (" " in name or bool(kind))

    def full_person(self, last: str) -> str:
        """Return the full name of the only person with the family name `last`, or an empty string."""
        found = {name for name in self.persons if name.rsplit(maxsplit=1)[-1] == last}
        return found.pop() if len(found) == 1 else ""


def _can_be_person(name: str) -> bool:
    words = name.split()
    is_word = ORGANISATION.search(name) is not None or words[-1].lower() in KINDS or not RANKS.isdisjoint(words)
    is_short = len(words[-1]) == 1 or any(word.isupper() and len(word) > 1 for word in words)
    return re.fullmatch(PERSON, name) is not None and not is_word and not is_short


def strip(name: str) -> str:
    """Remove words at the start of a name that are capitalised only because they start a sentence."""
    words = name.split()
    while words and (words[0] in NOT_NAMES or words[0] in LOWER_NAME_WORDS):
        words.pop(0)
    while words and words[-1] in LOWER_NAME_WORDS:
        words.pop()
    bare = re.sub(rf"^(?:{TITLES} )+(?={CAP} {CAP})", "", " ".join(words))
    return re.sub(r"['’]s?$", "", bare)
