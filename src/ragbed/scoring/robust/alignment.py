"""Whether each part of an answer is given to the part of the question that it belongs to.

Only answers of one kind can be mixed up: a date is never taken for a name. Of those, a mention belongs to the
sub-question whose own words stand around it, or else, where no such words do, to the one whose turn it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ragbed.schema import Lang
from ragbed.scoring.robust.gold import GoldSlot
from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.normalise import fold
from ragbed.scoring.robust.patterns import late

_ASKING = (
    r"(?:who|whose|whom|what|when|where|which|how|(?:on|in|at|from|by|to|under) (?:what|which|whose)|according to)\b"
)
BREAK = {"en": late(rf",? and (?={_ASKING})|[,;] (?={_ASKING})"), "zh": late("[,;](?:以及|和|还有)?")}
"""Between the parts of a folded question, where each asks for itself."""
_WORD = late(r"[a-z]{4,}|[0-9]+|[\u4e00-\u9fff]")
_SENTENCE = late(r"[。!?;\n]|\.(?![0-9a-z])")
_CLAUSE = late(r"[,。!?;\n]|\.(?![0-9a-z])|\band\b|\bwhile\b|而|以及|和")


def find_aligned(
    question: str, lang: Lang, slots: Sequence[GoldSlot], asserted: Sequence[Sequence[Mention]], text: str
) -> list[bool]:
    """For each part of the answer, whether it is asserted and bound to its own part of the question."""
    own_words = _own_words(question, lang, len(slots))
    everything = sorted(mention for mentions in asserted for mention in mentions)
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
                _is_bound(number, mention, rivals, asserted, text_around(text, mention, everything), own_words)
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
    own_words: tuple[frozenset[str], ...],
) -> bool:
    if not rivals:
        return True
    if own_words:
        seen = _words(window)
        mine = len(own_words[number] & seen)
        best = max(len(own_words[rival] & seen) for rival in rivals)
        if mine != best:
            return mine > best
    return all((asserted[rival][0].start > mention.start) == (rival > number) for rival in rivals)


def text_around(text: str, mention: Mention, everything: Sequence[Mention]) -> str:
    """What stands around a mention: its sentence before it, its clause after it, no mention itself."""
    start = max((other.end for other in everything if other.end <= mention.start), default=0)
    end = min((other.start for other in everything if other.start >= mention.end), default=len(text))
    start, end = max(start, mention.start - 200), min(end, mention.end + 100)
    breaks = [match.end() for match in _SENTENCE.finditer(text, start, mention.start)]
    stop = _CLAUSE.search(text, mention.end, end)
    before = text[breaks[-1] if breaks else start : mention.start]
    return f"{before} {text[mention.end : stop.start() if stop else end]}"


@lru_cache(maxsize=16_384)
def _own_words(question: str, lang: Lang, wanted: int) -> tuple[frozenset[str], ...]:
    """The words of each sub-question that no other has; nothing where it cannot be taken apart."""
    parts = [_words(part) for part in BREAK[lang].split(fold(question, lang)) if part.strip()]
    if len(parts) != wanted:
        return ()
    return tuple(part - frozenset().union(*parts[:place], *parts[place + 1 :]) for place, part in enumerate(parts))


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))
