"""Check that a model-generated question repeats its source sentence, with question words in place of one value.

Such a question adds no claim and loses no condition. Another question may be just as good, but only a person or a
larger model could tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from ragbed.builder.rules.chinese_blanks import ACTION
from ragbed.builder.rules.english_words import VERB
from ragbed.schema import Lang

_WORD = re.compile(r"[£$€¥]?\d[\d.,:]*\d|[£$€¥]?\d|[^\W\d_]+(?:['-][^\W\d_]+)*")
_MARKS = re.compile(r"[,;:](?!\d)|[()]| [—–-] ")  # punctuation between the parts of an English sentence
# The question words at the start of an English question, with an optional preposition: "In which year".
_ASKED = re.compile(
    r"(?:(?P<link>[a-z]+) )?(?:(?:which|what) (?:date|day|year|percentage|share|amount(?: of money)?)|how (?:many|much)"
    r"|when|who|whom)\b",
    re.IGNORECASE,
)
_ARTICLES = frozenset({"the", "a", "an"})
_DO = frozenset({"do", "does", "did"})
_AUXILIARIES = frozenset({"is", "are", "was", "were", "has", "have", "had"})
_OPENING = frozenset({"when", "and", "but"})  # a question may omit these words if its source sentence starts with them
# Words that introduce a restrictive phrase, which a question must not omit.
_LIMIT = re.compile(
    r"\s*(?:including|excluding|except|plus|without|with|if|unless|only|at|in|on|by|to|during|for|per|from|after|before"
    r"|as|since|until|among|not|compared|under|over|between|within)\b",
    re.IGNORECASE,
)
# Signs of a second statement: a conjunction before a verb, or a relative or subordinate clause.
_JOINED = re.compile(rf"\b(?:and|but|or|then) (?:[a-z]+ly )?{VERB.pattern}")
_RELATIVE = re.compile(r"\S \b(?:that|which|who|whom|whose|where|when|while|because|although|as)\b")
# A counted noun, followed by a noun to which the number does not apply: "lockers and a café".
_OTHERS = re.compile(r" [a-z-]+ and (?:an?|the|one|two|three|\d[\d.,]*) [^\d]+$")
# Past forms of irregular verbs, keyed by base form.
_PAST = {
    "be": "were", "bear": "bore", "beat": "beat", "become": "became", "begin": "began", "break": "broke",
    "bring": "brought", "build": "built", "buy": "bought", "catch": "caught", "choose": "chose", "come": "came",
    "cost": "cost", "cut": "cut", "dig": "dug", "draw": "drew", "drive": "drove", "eat": "ate", "fall": "fell",
    "feed": "fed", "fight": "fought", "find": "found", "flee": "fled", "fly": "flew", "freeze": "froze",
    "get": "got", "give": "gave", "go": "went", "grow": "grew", "have": "had", "hear": "heard", "hit": "hit",
    "hold": "held", "keep": "kept", "know": "knew", "lay": "laid", "lead": "led", "leave": "left",
    "lend": "lent", "let": "let", "lie": "lay", "lose": "lost", "make": "made", "meet": "met", "pay": "paid",
    "put": "put", "read": "read", "ride": "rode", "ring": "rang", "rise": "rose", "run": "ran", "say": "said",
    "see": "saw", "sell": "sold", "send": "sent", "set": "set", "shoot": "shot", "sing": "sang", "sink": "sank",
    "sit": "sat", "sleep": "slept", "speak": "spoke", "spend": "spent", "stand": "stood", "steal": "stole",
    "swim": "swam", "take": "took", "teach": "taught", "tell": "told", "think": "thought", "throw": "threw",
    "wear": "wore", "win": "won", "write": "wrote",
}  # fmt: skip
_MAX_CLAUSES = 3  # maximum number of clauses in a Chinese question
_MIN_HAN = 4  # minimum number of Han characters in a clause with a subject and a verb, not counting the value
_CHINESE_MARKS = "，；：。"
_FORMS = {
    "哪一年": ("哪一年", "哪年"),
    "哪一天": ("哪一天", "哪天", "哪一日", "几月几日"),
    "哪年哪月": ("哪年哪月", "哪年几月", "哪一年几月", "哪一年哪个月"),
    "什么百分比": ("百分之多少", "百分之几", "多少%", "多少％"),
    "谁的名字": ("谁", "哪位"),
}
_NUMERAL = re.compile(r"^(?:[\d.,]+|[一二两三四五六七八九十百千零]+)[万亿]?(?:[一二两三四五六七八九]千)?")


class Value(NamedTuple):
    """A value, the text before and after it in a sentence, and the words that ask for it in a rule-based question."""

    before: str
    answer: str
    after: str
    kind: str


def find_rewording(question: str, value: Value, lang: Lang) -> str:
    """Describe how a question differs from its source sentence, ignoring question words, or return an empty string."""
    return next(_find_english(question, value) if lang == "en" else _find_chinese(question, value), "")


def _find_chinese(question: str, value: Value) -> Iterator[str]:
    """Yield reasons to reject a Chinese question. It must repeat the start of the sentence and ask for the value."""
    sentence = _plain(value.before + value.answer + value.after)
    unit = _NUMERAL.sub("", value.answer)
    forms = _FORMS.get(value.kind, (f"多少{unit}", f"几{unit}"))
    answer = _plain(value.answer)
    stated = {_plain(question).replace(form, answer, 1) for form in forms if question.count(form) == 1}
    kept = next((text for text in stated if sentence.startswith(text)), "")
    rest = sentence[len(kept) :]
    if not kept or len(kept) < len(_plain(value.before + value.answer)):
        yield "the question must repeat the sentence from its start up to the value"
    elif rest and rest[0] not in _CHINESE_MARKS:
        yield f"the question leaves out {rest[:10]!r}"
    elif re.search(f"[{_CHINESE_MARKS}]", kept[len(_plain(value.before + value.answer)) :]):
        yield "the question continues after the part with the value"
    clauses = re.split(f"[{_CHINESE_MARKS}]", kept)
    if len(clauses) > _MAX_CLAUSES or ACTION.match(kept):
        yield "the question is too long or does not start with its subject"
    elif len(re.findall(r"[\u4e00-\u9fff]", re.sub("（[^）]*）", "", clauses[-1]).replace(answer, ""))) < _MIN_HAN:
        yield "the part of the question with the value does not name its subject"


def _plain(text: str) -> str:
    """Remove white space and final punctuation, and unify the other punctuation except for commas in numbers."""
    plain = re.sub(r"\s", "", text).translate(str.maketrans("“”‘’\"'?;:", "''''''？；："))
    return re.sub(r",(?!\d{3}(?!\d))", "，", plain).rstrip("。？")


def _find_english(question: str, value: Value) -> Iterator[str]:
    """Yield reasons to reject an English question, e.g. because it adds, moves or wrongly omits a word."""
    asked = _ASKED.match(question)
    if asked is None:
        yield "the question does not start with the words that ask for the value"
        return
    earlier, later = _MARKS.split(value.before), _MARKS.split(value.after)
    before, after = earlier.pop(), later.pop(0)
    if _JOINED.search(f"{before}_{after}") or _RELATIVE.search(before):
        yield "the sentence makes more than one statement"
    rest, own = _words(question[asked.end() :]), _words(before)
    fronted = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(rest, _words(after), strict=False))))
    link = asked["link"] or (own[-1] if asked[0].lower() == "when" and own[-1:] in (["in"], ["on"]) else None)
    if link and own[-1:] != [link.lower()]:
        yield f"the question asks with {link!r}"
    if asked[0].lower().endswith("many") and not fronted:
        yield "the question does not repeat the noun after the number"
    own = own[: -1 if link else None] + ([] if fronted == 1 and _OTHERS.match(after) else _words(after)[fronted:])
    parts = [*map(_Part, earlier), _Part(before, own), *map(_Part, later)]
    yield from _compare(rest[fronted:], parts, len(earlier))


class _Part:
    """The words between two punctuation marks in a sentence, with flags for those that the question contains."""

    def __init__(self, text: str, words: list[str] | None = None) -> None:
        self.text = text
        self.words = _words(text) if words is None else words
        self.kept = [word in _ARTICLES for word in self.words]

    def find(self, word: str, start: int, is_verb: bool) -> int | None:
        """Return the index of a word, or of one of its forms if it may be a verb; return None if there is no match."""
        places = range(start, len(self.words))
        return next((at for at in places if _is_same(word, self.words[at], is_verb)), None)

    def left_out(self) -> list[str]:
        """Return the words in this part that the question does not contain."""
        return [word for word, is_kept in zip(self.words, self.kept, strict=True) if not is_kept]


def _compare(rest: list[str], parts: list[_Part], own: int) -> Iterator[str]:
    """Yield the differences between a question, ignoring its question words, and the parts of its source sentence.

    Args:
        rest: The remaining words of the question.
        parts: The parts of the sentence, without the value.
        own: Index of the part that contained the value.
    """
    auxiliary = rest[0] if rest and rest[0] in _DO | _AUXILIARIES else ""
    stated = parts[own]
    if auxiliary in _AUXILIARIES and auxiliary in stated.words:
        stated.kept[stated.words.index(auxiliary)] = True
    elif auxiliary in _AUXILIARIES or not any(map(VERB.fullmatch, stated.words)):
        yield "the part of the sentence with the value has another verb"
    number, at = 0, 0
    for word in rest[bool(auxiliary) :]:
        if word in _ARTICLES:
            continue
        while number < len(parts) and (place := parts[number].find(word, at, auxiliary in _DO)) is None:
            number, at = number + 1, 0
        if number == len(parts):
            yield f"the question adds or moves {word!r}"
            return
        parts[number].kept[place or 0] = True
        at = (place or 0) + 1
    yield from _find_left_out(parts, own)


def _find_left_out(parts: list[_Part], own: int) -> Iterator[str]:
    """Yield the words that a question wrongly omits.

    It may omit a whole part of its source sentence unless the part contains the value or restricts the statement.
    """
    for number, part in enumerate(parts):
        left = part.left_out()
        if number == own:
            left = left[1:] if left and left[0] in _OPENING and part.words[0] == left[0] else left
        elif not _LIMIT.match(part.text) and len(left) == len([word for word in part.words if word not in _ARTICLES]):
            left = []
        if left:
            yield f"the question leaves out {' '.join(left)!r}"


def _is_same(word: str, stated: str, is_verb: bool) -> bool:
    """Check that two words are the same, or that the second is a form of the first, e.g. "painted" for "paint"."""
    if word == stated or (word, stated) == ("per", "a"):
        return True
    return is_verb and stated in _forms(word) and VERB.fullmatch(stated) is not None


def _forms(verb: str) -> set[str]:
    """Return the forms that a verb can take in a statement, given its base form."""
    regular = {verb + ending for ending in ("s", "es", "d", "ed", f"{verb[-1]}ed")}
    return regular | {f"{verb[:-1]}ies", f"{verb[:-1]}ied", "has" if verb == "have" else "", _PAST.get(verb, "")}


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("’", "'"))
