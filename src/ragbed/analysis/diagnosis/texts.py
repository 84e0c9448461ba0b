"""Text prepared for matching, and the terms and parts of a question.

Terms are the names and qualifiers that distinguish the question's subject from similar subjects. Questions are split at
commas and question marks or between members of a list: 'Who won in 2022, and who won in 2023?' contains two questions.
'Who won in 2022 and 2023?' contains a list, and each sub-question is the question with one member of the list.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from ragbed.schema import Lang
from ragbed.scoring.robust.alignment import BREAK
from ragbed.scoring.robust.dates import Date
from ragbed.scoring.robust.match import FoldedResponse, Mention
from ragbed.scoring.robust.normalise import fold, origins
from ragbed.scoring.robust.quantities import Quantity
from ragbed.text import split_sentences

_TOKEN = re.compile(r"[a-z0-9]+(?:['.,-][a-z0-9]+)*|[\u3400-\u9fff]")


class Sentence(NamedTuple):
    """A sentence in a text, with its character positions."""

    number: int
    start: int
    end: int
    text: str
    folded: str


class ParsedText:
    """A normalised document or response."""

    def __init__(self, text: str, lang: Lang) -> None:
        self.text, self.lang = text, lang
        self.folded = fold(text, lang)
        self.reading = FoldedResponse(self.folded)

    @cached_property
    def sentences(self) -> list[Sentence]:
        """Return all sentences; together they cover the whole text."""
        return [
            Sentence(number, start, end, self.text[start:end], fold(self.text[start:end], self.lang))
            for number, (start, end) in enumerate(split_sentences(self.text))
        ]

    @cached_property
    def _origins(self) -> list[int]:
        return origins(self.text, self.lang)

    @cached_property
    def _starts(self) -> list[int]:
        return [sentence.start for sentence in self.sentences]

    def place(self, found: Mention | Date | Quantity) -> tuple[int, int]:
        """Return the span in the original text of a mention, date or quantity in the normalised text."""
        return self._origins[found.start], self._origins[max(found.start, found.end - 1)] + 1

    def sentence_at(self, mention: Mention) -> Sentence:
        """Return the sentence in which a mention starts."""
        return self.sentences[max(0, bisect_right(self._starts, self.place(mention)[0]) - 1)]


@lru_cache(maxsize=8_192)
def parse_text(text: str, lang: Lang) -> ParsedText:
    """Return a parsed text. The result is cached, because many trials have the same documents and responses."""
    return ParsedText(text, lang)


def tokens(folded: str) -> list[str]:
    """Return the words in a normalised text, or the characters if the text is Chinese."""
    return _TOKEN.findall(folded)


# Function words, and words that responses use to refer to the task.
_STOP = """
    a an the of in on at by to for from with into onto over under about as is are was were be been being am has have
    had do does did will would shall should can could may might must not no nor and or but if then than so that this
    these those it its he him his she her hers they them their we us our you your i me my who whom whose which what when
    where why how also only just very more most much many some any all each every both either neither there here up down
    out off after before during between since until while because s t re ve ll d m per via among amid around again
    according based answer document documents question questions provided given information passage passages text
    article mentioned stated states says said following above below therefore thus hence however external context
    explanation note reason reasoning step steps
"""
STOP = frozenset(_STOP.split())

# A pattern for function words and phrases at which Chinese sentences are split.
FRAME_ZH = (
    "根据新闻内容|据报道|报道|可能|授予|根据新闻|根据提供的文档|根据所提供的|根据提供的|根据文档|根据以上|文档中提到|文档中|文档|资料显示|答案|问题|信息|因此|所以|具体|分别|"
    "可以得知|可以看出|可知|得知|提到|显示|其中|以及|或者|但是|没有|我们|他们|她们|它们|这个|那个|这份|该|其|这|那|"
    "的|了|在|是|为|于|由|被|将|和|与|及|、|或|而|且|也|都|就|对|从|到|把|向|以|所|其|之|有|共|约|达到|达|位|名|个|款"
)

# Chinese question words.
_ASKING = re.compile("谁|哪[^\\W\\d_]?|什么时候|什么|多少|多大|多长|多久|几|何时|何地|何人|何|怎么|如何|为何|吗|呢")

YEAR = re.compile(r"(?<![0-9.,])(?:1[89]|20)[0-9]{2}(?![0-9]|[.,][0-9])")
_ORDINAL_WORDS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_NUMBERED = _ORDINAL_WORDS.split()
_ORDINALS = re.compile(
    rf"\b(?P<word>{'|'.join(_NUMBERED)})\b(?:[ -](?P<of>[a-z]+))?"
    r"|\b(?P<digits>[0-9]+)(?:st|nd|rd|th)\b(?: (?P<of2>[a-z]+))?"
    r"|\bq(?P<quarter>[1-4])\b|第(?P<zh>[0-9一二三四五六七八九十百]+)(?P<of3>季度|[\u4e00-\u9fff]?)"
)
_DIGITS_ZH = {character: number for number, character in enumerate("零一二三四五六七八九")}
_CAPITALISED = re.compile(r"(?<![\w'’])[A-Z][\w&]*(?:[-'’.][A-Za-z]\w*)*")
_CUT_ZH = re.compile(
    rf"[0-9A-Za-z]+(?:年度?|赛季)?|第[0-9一二三四五六七八九十百]+(?:季度|[\u4e00-\u9fff])|[这那]场|{FRAME_ZH}"
    r"|[^\u3400-\u9fff·]+"
)

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
# Separators between complete questions; the first one that gives the right number of parts is used.
_BREAKS = {
    "en": [re.compile(rf"{BREAK['en'].pattern}|\? ", re.IGNORECASE)],
    "zh": [re.compile("[,，;；?？]\\s*(?:以及|和|还有)?"), re.compile("[,，;；?？]\\s*(?:以及|还有)")],
}
_FUNCTION_ZH = frozenset("的是在有了谁哪什么多少")  # characters that do not identify a part


@dataclass(frozen=True)
class QuestionTerms:
    """The terms of a question.

    `content` has its content words (pairs of characters in Chinese), `names` has the normalised names of its subject,
    and `ordinals` has pairs of the counted noun, if any, and the number, e.g. ("quarter", "1").
    """

    lang: Lang
    folded: str
    content: frozenset[str]
    names: tuple[str, ...]
    years: frozenset[str]
    ordinals: frozenset[tuple[str, str]]

    def names_in(self, folded: str) -> list[str]:
        """Return the names from the question that a normalised text contains."""
        return [name for name in self.names if has_name(folded, name, self.lang)]

    def is_absent(self, folded: str) -> bool:
        """Return whether a text has neither a name from the question nor the start of one (e.g. 鹭河 for 鹭河洪水)."""
        has_start = self.lang == "zh" and any(name[:2] in folded for name in self.names)
        return bool(self.names) and not has_start and not self.names_in(folded)

    def coverage(self, folded: str) -> float:
        """Return the share of the question's content words that a normalised text contains."""
        return len(self.content & _content_of(folded, self.lang)) / len(self.content) if self.content else 0.0


@lru_cache(maxsize=16_384)
def take_apart(question: str, lang: Lang) -> QuestionTerms:
    """Return the terms of a question. The result is cached, because many conditions share a question."""
    folded = fold(question, lang)
    names = _names_en(question) if lang == "en" else _names_zh(question)
    return QuestionTerms(lang, folded, _content_of(folded, lang), names, years_in(folded), ordinals_in(folded))


def years_in(folded: str) -> frozenset[str]:
    """Return the years in a normalised text."""
    return frozenset(YEAR.findall(folded))


def ordinals_in(folded: str) -> frozenset[tuple[str, str]]:
    """Return the ordinals in a normalised text, with the nouns that they modify."""
    return frozenset(_ordinal(match) for match in _ORDINALS.finditer(folded))


@lru_cache(maxsize=32_768)
def _content_of(folded: str, lang: Lang) -> frozenset[str]:
    """Return the stems of the content words or, in Chinese, the pairs of adjacent characters."""
    words = tokens(folded)
    if lang == "en":
        return frozenset(stem(word) for word in words if word not in STOP)
    return frozenset(first + second for first, second in pairwise(words)) | {word for word in words if len(word) > 1}


def stem(word: str) -> str:
    """Return the approximate stem of a word, e.g. "defeat" for "defeated" and "defeats"."""
    word = word.removesuffix("'s").removesuffix("'")
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word


def _ordinal(match: re.Match[str]) -> tuple[str, str]:
    if match["quarter"]:
        return "quarter", match["quarter"]
    if match["zh"]:
        numeral = match["zh"]
        return ("quarter" if match["of3"] == "季度" else match["of3"]), str(_DIGITS_ZH.get(numeral, numeral))
    of = (match["of"] or match["of2"] or "").removesuffix("s")
    return of, str(_NUMBERED.index(match["word"]) + 1) if match["word"] else match["digits"]


def _names_en(question: str) -> tuple[str, ...]:
    found = [fold(match[0], "en").removesuffix("'s") for match in _CAPITALISED.finditer(question)]
    return tuple(dict.fromkeys(name for name in found if name not in STOP and len(name) > 1))


def _names_zh(question: str) -> tuple[str, ...]:
    """Return the phrases of a Chinese question, except the one next to the question word."""
    names: list[str] = []
    for part in re.split("[，；,;。？?]", question):
        asking = _ASKING.search(part)
        runs = _runs_zh(part if asking is None else part[: asking.start()])
        after = [] if asking is None else _runs_zh(part[asking.end() :])
        if asking is not None:  # drop the words that name the relation; they precede 是多少 but follow 谁 or 哪部电影
            runs, after = (runs[:-1], after) if runs and not after else (runs, after[1:])
        names += runs + after
    # Two-character names, e.g. 法国, are used only if no name is longer.
    return tuple(dict.fromkeys(fold(name, "zh") for name in [name for name in names if len(name) > 2] or names))


def _runs_zh(text: str) -> list[str]:
    return [run for run in _CUT_ZH.split(text) if len(run) > 1]


def has_name(folded: str, name: str, lang: Lang) -> bool:
    """Return whether a normalised text contains a name or, in Chinese, three consecutive characters of it."""
    if lang == "en":
        return re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", folded) is not None
    size = min(3, len(name))
    return any(name[at : at + size] in folded for at in range(len(name) - size + 1))


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
    texts = _at_list(question, lang, wanted)
    for breaks in reversed(_BREAKS[lang]):
        pieces = [piece.strip(" ?？") for piece in breaks.split(question) if piece.strip(" ?？")]
        if len(pieces) == wanted:
            texts = [f"{piece[0].upper()}{piece[1:]}{'？' if lang == 'zh' else '?'}" for piece in pieces]
    words = [frozenset(tokens(fold(text, lang))) - STOP - _FUNCTION_ZH for text in texts]
    own = [one - frozenset().union(*words[:place], *words[place + 1 :]) for place, one in enumerate(words)]
    numbers = [frozenset(anchor for anchor in anchors if anchor[0].isdigit()) for anchors in own]
    anchors = numbers if all(numbers) else own
    return tuple(map(SubQuestion, texts, anchors)) if all(anchors) else ()


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
        if all(members):
            return [question[: found.start()] + member + question[end:] for member in members]
    return []
