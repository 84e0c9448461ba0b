"""Split a question with several parts into sub-questions, at commas and question marks or between members of a list.

'Who won in 2022, and who won in 2023?' contains two questions. 'Who won in 2022 and 2023?' contains a list, and each
sub-question is the question with one member of the list.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ragbed.analysis.diagnosis.parsed_text import tokens
from ragbed.analysis.diagnosis.question_terms import STOP
from ragbed.schema import Lang
from ragbed.scoring.robust.alignment import BREAK
from ragbed.scoring.robust.normalise import fold

_MEMBER_EN = r"(?:[A-Z][\w'’.-]*(?: [A-Z][\w'’.-]*)*|\d{4})"
# A member with an article, e.g. 'the iPhone 13' or 'the 2022 World Cup'.
_THE_EN = r"the (?:\d{4} )?[a-z]?[A-Z][\w'’.-]*(?: (?:[A-Z][\w'’.-]*|\d+))*"
_LIST_EN = re.compile(
    rf"(?<![\w'’-])(?:{_MEMBER_EN}(?:, {_MEMBER_EN})*,? and {_MEMBER_EN}|{_THE_EN}(?:, {_THE_EN})*,? and {_THE_EN})"
    r"(?![\w-])"
)
_LIST_ZH = re.compile(
    r"\d{4}年?(?:[、,，]\d{4}年?)*(?:和|与|及|以及|、)\d{4}年?"
    r"|\d{4}年[^\W\d_]{1,12}(?:和|与|及|以及)\d{4}年[^\W\d_]+"
    r"|[A-Za-z][A-Za-z0-9 .-]{0,20}(?:和|与|及|以及)[A-Za-z][A-Za-z0-9 .-]*"
    r"|[^\W\d_]{1,12}(?:、[^\W\d_]{1,12})*(?:和|与|及|以及)[^\W\d_]+"
)
_COMPLETE_ZH = re.compile(r"\d{4}年?|[ -~]+")  # a list's last member that is not followed by other words
_AND = {"en": re.compile(r",? and |, "), "zh": re.compile("和|与|以及|及|、|，|,")}
_TAIL_ZH = re.compile("分别|各自|各|在|的|是|于|都|获|赢|由|为|是否|哪|谁|什么|多少")


_FUNCTION_ZH = frozenset("的是在有了谁哪什么多少")  # characters that do not identify a part


class SubQuestion(NamedTuple):
    """A sub-question, written as a complete question.

    `anchors` are the normalised words (characters in Chinese) that no other part contains, or only the numbers if every
    part contains some.
    """

    text: str
    anchors: frozenset[str]

    def is_spoken_of(self, folded: str) -> bool:
        """Return whether a normalised text contains most of the words or numbers that identify this part."""
        seen = len(self.anchors & frozenset(tokens(folded)))
        return bool(self.anchors) and 2 * seen > len(self.anchors) - (len(self.anchors) > 1)


@lru_cache(maxsize=16_384)
def split_question(question: str, lang: Lang, wanted: int) -> tuple[SubQuestion, ...]:
    """Split a question into the given number of parts; return an empty tuple if they cannot be determined."""
    if wanted < 2:
        return ()
    texts = _at_breaks(question, lang, wanted) or _at_list(question, lang, wanted)
    words = [frozenset(tokens(fold(text, lang))) - STOP - _FUNCTION_ZH for text in texts]
    own = [one - frozenset().union(*words[:place], *words[place + 1 :]) for place, one in enumerate(words)]
    numbers = [frozenset(anchor for anchor in anchors if anchor[0].isdigit()) for anchors in own]
    anchors = numbers if all(numbers) else own
    return tuple(map(SubQuestion, texts, anchors)) if all(anchors) else ()


def _at_breaks(question: str, lang: Lang, wanted: int) -> list[str]:
    mark = "？" if lang == "zh" else "?"
    for breaks in _BREAKS[lang]:
        pieces = [piece.strip(" ?？") for piece in breaks.split(question) if piece.strip(" ?？")]
        if len(pieces) == wanted:
            return [f"{piece[0].upper()}{piece[1:]}{mark}" for piece in pieces]
    return []


# Separators between complete questions; the first one that gives the right number of parts is used.
_BREAKS = {
    "en": [re.compile(rf"{BREAK['en'].pattern}|\? ", re.IGNORECASE)],
    "zh": [re.compile("[,，;；?？]\\s*(?:以及|和|还有)?"), re.compile("[,，;；?？]\\s*(?:以及|还有)")],
}


def _at_list(question: str, lang: Lang, wanted: int) -> list[str]:
    for found in (_LIST_EN if lang == "en" else _LIST_ZH).finditer(question):
        members = [member for member in _AND[lang].split(found[0]) if member]
        if len(members) != wanted:
            continue
        end = found.end()
        if lang == "zh" and not _COMPLETE_ZH.fullmatch(members[-1]):
            tail = _TAIL_ZH.search(members[-1])
            kept = tail.start() if tail else min(len(members[-1]), len(members[0]))
            end -= len(members[-1]) - kept
            members[-1] = members[-1][:kept]
        if lang == "zh" and members[-1].endswith("年"):
            members = [member if member.endswith("年") or not member.isdigit() else f"{member}年" for member in members]
        if all(members):
            return [question[: found.start()] + member + question[end:] for member in members]
    return []
