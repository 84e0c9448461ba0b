"""Check whether each part of an answer is assigned to its own part of the question.

Only answers of the same kind can be confused: a date is never taken for a name. A mention belongs to the sub-question
whose distinctive words surround it, or, without such words, to the sub-question at the same position in the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ragbed.schema import Lang
from ragbed.scoring.robust.gold import GoldSlot
from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.normalise import fold_question
from ragbed.scoring.robust.patterns import lazy

_ASKING = (
    r"(?:who|whose|whom|what|when|where|which|how|(?:on|in|at|from|by|to|under) (?:what|which|whose)|according to)\b"
)
# Separators between the sub-questions of a folded question.
BREAK = {"en": lazy(rf",? and (?={_ASKING})|[,;] (?={_ASKING})"), "zh": lazy("[,;](?:以及|和|还有)?")}
_WORD = lazy(r"(?=([\u4e00-\u9fff]{2}))|([a-z]{4,}|[0-9]+)")
# Matches questions that ask for an unordered set of answers.
_SET = lazy(
    r"(?i)\b(?:which|what|name|name the|what are the) (?:two|three|four)\b|^[两二三四][个座位名家种]|哪[些几两三二]"
)
_SENTENCE = lazy(r"[。!?;\n]|\.(?![0-9a-z])")
_CLAUSE = lazy(r"[,。!?;\n]|\.(?![0-9a-z])|\band\b|\bwhile\b|而|以及|和")


def find_aligned(
    question: str, lang: Lang, slots: Sequence[GoldSlot], asserted: Sequence[Sequence[Mention]], text: str
) -> list[bool]:
    """Return, for each part of the answer, whether it is asserted and assigned to its sub-question."""
    if _SET.search(question):
        return [bool(mentions) for mentions in asserted]
    distinctive = _distinctive_words(question, lang, len(slots))
    all_mentions = sorted(mention for mentions in asserted for mention in mentions)
    aligned = []
    for number, mentions in enumerate(asserted):
        rivals = [
            other
            for other, slot in enumerate(slots)
            if other != number
            and slot.kind == slots[number].kind
            and asserted[other]
            and not slot.forms & slots[number].forms
        ]
        aligned.append(
            any(
                _is_bound(number, mention, rivals, asserted, text_around(text, mention, all_mentions), distinctive)
                for mention in mentions
            )
        )
    return aligned


def _is_bound(
    number: int,
    mention: Mention,
    rivals: Sequence[int],
    asserted: Sequence[Sequence[Mention]],
    window: str,
    distinctive: tuple[frozenset[str], ...],
) -> bool:
    if not rivals:
        return True
    if distinctive:
        found = _words(window)
        own = _overlap(distinctive[number] & found)
        best = max(_overlap(distinctive[rival] & found) for rival in rivals)
        if own != best:
            return own > best
    return all((asserted[rival][0].start > mention.start) == (rival > number) for rival in rivals)


def _overlap(words: frozenset[str]) -> tuple[int, int]:
    """Return the number of shared numbers and of shared words. Numbers come first, because words have synonyms."""
    return sum(word.isdigit() for word in words), len(words)


def text_around(text: str, mention: Mention, mentions: Sequence[Mention]) -> str:
    """Return the sentence before a mention and the clause after it, without other mentions."""
    previous = start = max((other.end for other in mentions if other.end <= mention.start), default=0)
    if start and (stop := _CLAUSE.search(text, start, mention.start)):
        start = stop.start()  # the rest of that clause belongs to the other mention
    end = min((other.start for other in mentions if other.start >= mention.end), default=len(text))
    start, end = max(start, mention.start - 200), min(end, mention.end + 200)
    breaks = [match.end() for match in _SENTENCE.finditer(text, start, mention.start)]
    stop = _SENTENCE.search(text, mention.end, end)
    is_alone = stop is not None and (breaks or start == 0)  # the sentence has no other mention
    is_last = previous and not any(other.start >= mention.end for other in mentions)
    if not is_alone and not is_last:
        stop = _CLAUSE.search(text, mention.end, min(end, mention.end + 100))
    before = text[breaks[-1] if breaks else start : mention.start]
    return f"{before} {text[mention.end : stop.start() if stop else end]}"


@lru_cache(maxsize=16_384)
def _distinctive_words(question: str, lang: Lang, count: int) -> tuple[frozenset[str], ...]:
    """Return the words that distinguish each sub-question, or an empty tuple if the question cannot be split."""
    parts = [_words(part) for part in BREAK[lang].split(fold_question(question, lang)) if part.strip()]
    if len(parts) != count:
        return ()
    return tuple(part - frozenset.intersection(*parts) for part in parts)


def _words(text: str) -> frozenset[str]:
    return frozenset(han or word for han, word in _WORD.findall(text))
