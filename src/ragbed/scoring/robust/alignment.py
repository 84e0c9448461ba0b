"""Check whether each part of an answer is assigned to the part of the question that it answers.

Only answers of the same kind can be confused: a date is never taken for a name. Two parts are in place if the
distinctive words of their own sub-questions are closer to them than those of the other; without such words, if they are
in the order of the sub-questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from ragbed.schema import Lang
from ragbed.scoring.robust.gold import GoldSlot
from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.normalise import fold_question
from ragbed.scoring.robust.patterns import lazy, words

_ASKING = (
    r"(?:who|whose|whom|what|when|where|which|how|(?:on|in|at|from|by|to|under) (?:what|which|whose)|according to)\b"
)
# Separators between the sub-questions of a normalised question.
BREAK = {"en": lazy(rf",? and (?={_ASKING})|[,;] (?={_ASKING})"), "zh": lazy("[,;](?:以及|和|还有)?")}
_WORD = lazy(r"[\u4e00-\u9fff]|[a-z]{3,}|[0-9]+")
_AND = {"en": lazy(r",? and (?:the )?|, (?:the )?"), "zh": lazy("以及|[、和与及跟]")}
_LIMIT_ZH = lazy("[的是在有,。?:;]|分别|各|什么|哪|谁|多少")
_LONGEST_ITEM = 8  # maximum length, in characters, of the first and last list items in a Chinese question
_STEM = 4  # words that share this many leading letters count as related, e.g. melting and melts
_NEAR = 8  # distance in characters at which the weight of a word is halved
_FAR = 10_000
_FUNCTION_WORDS = words(
    "the and was were are did does who what when where which how many much with from has had have that this for its "
    "his her their they she him them whose whom been being year date name named called"
)
_FUNCTION_CHARACTERS = frozenset("的是在有了谁哪什么多少各分别年月日之为和与及")
# Matches several questions, or a question about several things, whose answers must be in the same order.
_LIST = lazy(
    r"(?i)\b(?:and|or|as well as|vs|versus|plus|respectively|both)\b|[&/+,，、;；和与及]|还有|对阵|分别|各|男女|父母"
    r"|正副|[?？]\s*\S"
)
_SENTENCE = lazy(r"[。!?;\n]|\.(?![0-9a-z])")
_CLAUSE = lazy(r"[,。!?;\n]|\.(?![0-9a-z])|\band\b|\bwhile\b|而|以及|和")


def find_aligned(
    question: str, lang: Lang, slots: Sequence[GoldSlot], asserted: Sequence[Sequence[Mention]], text: str
) -> list[bool]:
    """Return, for each part of the answer, whether it is asserted and assigned to its sub-question."""
    keys = _distinctive_words(question, lang, len(slots))
    if not keys and not _LIST.search(question):  # one question with several answers, e.g. 'Who founded Google?'
        return [bool(mentions) for mentions in asserted]
    every = sorted(mention for mentions in asserted for mention in mentions)
    closeness = [[_closeness(key, mentions, every, text) for key in keys] for mentions in asserted]
    return [
        bool(mentions)
        and all(
            _is_in_place(number, other, closeness, asserted)
            for other, slot in enumerate(slots)
            if other != number
            and slot.kind == slots[number].kind
            and asserted[other]
            and not slot.forms & slots[number].forms
        )
        for number, mentions in enumerate(asserted)
    ]


def _is_in_place(
    number: int, other: int, closeness: Sequence[Sequence[float]], asserted: Sequence[Sequence[Mention]]
) -> bool:
    """Return whether two parts of the answer are closer to their own sub-questions than to each other's."""
    if closeness[number]:
        own = closeness[number][number] + closeness[other][other]
        swapped = closeness[number][other] + closeness[other][number]
        if own != swapped:
            return own > swapped
    return any((asserted[other][0].start > mention.start) == (other > number) for mention in asserted[number])


def _closeness(key: frozenset[str], mentions: Sequence[Mention], every: Sequence[Mention], text: str) -> float:
    """Return how close a sub-question's words are to the mentions of an answer. Numbers count more than words."""
    best = 0.0
    for mention in mentions:
        before, after = sides_of(text, mention, every)
        nearest: dict[str, int] = {}
        for word, start, _ in _words(after):
            nearest.setdefault(word, start)
        for word, _, end in _words(before):
            nearest[word] = min(nearest.get(word, _FAR), len(before) - end)
        shared = key & nearest.keys()
        best = max(best, sum((10 if word.isdigit() else 1) / (1 + nearest[word] / _NEAR) for word in shared))
    return best


def text_around(text: str, mention: Mention, mentions: Sequence[Mention]) -> str:
    """Return the text from the start of a mention's sentence to the end of its clause, excluding all mentions."""
    return " ".join(sides_of(text, mention, mentions))


def sides_of(text: str, mention: Mention, mentions: Sequence[Mention]) -> tuple[str, str]:
    """Return the texts before and after a mention, each with the same limits as in `text_around`."""
    previous = start = max((other.end for other in mentions if other.end <= mention.start), default=0)
    if start and (stop := _CLAUSE.search(text, start, mention.start)):
        start = stop.start()  # skip the rest of the clause that contains the previous mention
    end = min((other.start for other in mentions if other.start >= mention.end), default=len(text))
    start, end = max(start, mention.start - 200), min(end, mention.end + 200)
    breaks = [match.end() for match in _SENTENCE.finditer(text, start, mention.start)]
    stop = _SENTENCE.search(text, mention.end, end)
    is_alone = stop is not None and (breaks or start == 0)  # whether the sentence contains no other mention
    is_last = previous and not any(other.start >= mention.end for other in mentions)
    if not is_alone and not is_last:
        stop = _CLAUSE.search(text, mention.end, min(end, mention.end + 100))
    before = text[breaks[-1] if breaks else start : mention.start]
    return before, text[mention.end : stop.start() if stop else end]


@lru_cache(maxsize=16_384)
def _distinctive_words(question: str, lang: Lang, count: int) -> tuple[frozenset[str], ...]:
    """Return the words that distinguish each sub-question, or an empty tuple if the question cannot be split."""
    folded = fold_question(question, lang)
    parts = [part for part in BREAK[lang].split(folded) if part.strip()]
    if lang == "en" and len(parts) > count:  # skip an introduction, e.g. 'In the divorce, who got the house and …'
        parts = parts[-count:]
    if len(parts) != count:
        parts = _listed(folded, lang, count)
    found = [frozenset(word for word, _, _ in _words(part)) for part in parts]
    return tuple(part - frozenset().union(*found[:at], *found[at + 1 :]) for at, part in enumerate(found))


def _listed(question: str, lang: Lang, count: int) -> list[str]:
    """Return the items listed in a question, e.g. 'captain' and 'coach' for 'the captain and coach of the team'."""
    parts = _AND[lang].split(question)
    if len(parts) != count or count == 1:
        return []
    first, last = parts[0], parts[-1]
    if lang == "zh":
        head = _LIMIT_ZH.split(first)[-1][-_LONGEST_ITEM:]
        return [head, *parts[1:-1], next((item for item in _LIMIT_ZH.split(last) if item), "")[:_LONGEST_ITEM]]
    return [" ".join(first.split()[-3:]), *parts[1:-1], " ".join(last.split()[:3])]


def _words(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the English word stems, the numbers and the Chinese characters in a text, each with its span."""
    for match in _WORD.finditer(text):
        word = match[0]
        if word.isascii() and word not in _FUNCTION_WORDS:
            stem = word if word.isdigit() else word[:_STEM]
            yield stem, match.start(), match.end()
        elif not word.isascii() and word not in _FUNCTION_CHARACTERS:
            yield word, match.start(), match.end()
