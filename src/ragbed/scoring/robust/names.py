"""Check whether a mention is a complete name rather than part of a longer name or an ordinary word."""

from __future__ import annotations

from collections.abc import Sequence

from ragbed.schema import Lang
from ragbed.scoring.robust.candidates import COMMON, SURNAMES
from ragbed.scoring.robust.gold import Asked
from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.patterns import lazy, words

_RIGHT = lazy(r"[ -]([A-Z][\w'’-]*)(?=([.,;:!?)]|'s|’s)?)")
# The words before a surname; a full stop after a word ends a sentence.
_LEFT = lazy(r"(?:^|(?<=[^\w]))((?:(?:(?:[A-Z]\.)+|St\.|[A-Z][\w-]*)[ -])+)$")
_TITLES = words(
    "mr mrs ms miss dr sir lord lady dame professor prof president director minister mayor judge captain coach author "
    "king queen prince princess saint governor senator chancellor chairman ceo general colonel singer filmmaker"
)
# Words that turn a name into a different name, e.g. 'Boston' into 'Boston University'.
_INSTITUTIONS = words(
    "university college school academy institute foundation bank air airlines airways railway post times herald "
    "street road avenue square bridge hospital museum library hotel press prize award medal cup trophy society "
    "association committee council trust fund memorial station church cathedral orchestra theatre gallery"
)
_PREFIXES = words("new north south east west old fort port mount upper lower great little san santa st")
_NAMING = frozenset('是为叫由给:"(,。;\n ')
# Matches a Chinese character at the end of a clause unless it is a particle or a similar word. Directly after a name,
# such a character may belong to the name.
_LAST_CHARACTER = lazy("[\u4e00-\u9fff](?<![的了吧呢啊吗呗嘛哦啦等说着过队和与])(?=[,。;!\"')}|\n]|$)")
# Matches a common third character of a Chinese name if a verb or a particle follows, e.g. 国 in 王建国写的.
_THIRD_CHARACTER = lazy(
    "[国华伟芳娜敏静丽强磊洋艳杰娟涛霞英斌玲梅辉鹏波兰峰健俊凯婷雪琳倩莹颖燕萍宇浩轩涵怡欣佳豪博瑞琴洁云]"
    "(?=写|著|编写|出版|获|夺|赢|担任|出任|当选|执导|导演|创作|创办|创立|设计|发现|发明|提出|击败|战胜|的|是)"
)
_PLACES_ZH = lazy(
    "大学|学院|银行|日报|晚报|早报|时报|集团|公司|基金会|出版社|电视台|医院|俱乐部|博物馆|航空|铁路|杯|中学"
    "|小学|研究院|研究所|协会|分行|大桥|大道|机场(?!举)"
)
# Aliases that are also function words count only in quotes, after 'is' at the end of a sentence, or alone.
PRONOUNS = words(
    "it us her him them he she they we you i me who what where when how why this that these those one some all other "
    "up now then here there so may will can must the and or if but do be is was my his our your its mine ours la un "
    "他 她 它 我 你 我们 你们 他们 她们 它们 这 那 谁 什么 这里 那里 大家 自己"
)
_ABBREVIATIONS = frozenset({"us", "who", "la", "un"})  # in capitals, these words are names
_IN_QUOTES = lazy(r"[\"'《〈]$")
_LINK_BEFORE = lazy(r"(?:\b(?:is|was|were|are|just|only|exactly)|:|是|为) ?$")
_ENDS = lazy(r"[.!。]?\s*(?:$|\n)")


def is_part_of_name(
    original: str, span: tuple[int, int], asked: Asked, lang: Lang, given: frozenset[str] | None
) -> bool:
    """Return whether a name in the original response is part of a longer name, e.g. Baku in 'Baku Air'.

    Args:
        original: The response.
        span: The position of the mention in it.
        asked: The question.
        lang: The language.
        given: For a single word, which can be another person's surname: the right given names.
    """
    start, end = span
    if lang == "zh":
        found = _PLACES_ZH.match(original, end)
        is_place = found is not None and found[0] not in asked.text and found[0] not in original[start:end]
        return is_place or _is_part_of_title(original, start, end) or _is_part_of_person(original, start, end, asked)
    right = _RIGHT.match(original, end)
    if right and _extends(right[1], asked, is_single=given is not None):
        return True
    left = None if given is None else _LEFT.search(original, max(0, start - 40), start)
    if left is None or given is None:
        return False
    before = left[1].lower().replace(".", " ").split()
    if before and before[-1] in _PREFIXES:
        return before[-1] not in asked.text
    while before and (before[0] in _TITLES or before[0] in COMMON or (len(before[0]) > 1 and before[0] in asked.text)):
        before.pop(0)
    is_named = asked.asks_who and bool(before)
    return is_named and not any(_are_same_names(before, each.lower().replace(".", " ").split()) for each in given)


def _are_same_names(found: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether given names agree: each can be an initial, and middle names other than initials are not added."""
    (first, *middle), (name, *others) = found, wanted
    if not name.startswith(first):
        return False
    if len(middle) != len(others):
        return not middle or (not others and all(len(each) == 1 for each in middle))
    return all(
        one == two or (one[0] == two[0] and 1 in (len(one), len(two))) for one, two in zip(middle, others, strict=True)
    )


def _is_part_of_title(text: str, start: int, end: int) -> bool:
    """Return whether a mention is only part of a title in 《…》."""
    opening, closing = text.rfind("《", max(0, start - 30), start), text.find("》", end, end + 30)
    if opening < 0 or closing < 0 or "》" in text[opening:start]:
        return False
    return (opening + 1, closing) != (start, end)


def _is_part_of_person(text: str, start: int, end: int, asked: Asked) -> bool:
    """Return whether a name such as 王建 (surname plus one character) is the start of a longer name (王建国)."""
    if end - start != 2 or text[start] not in SURNAMES:
        return False
    if asked.asks_who and _THIRD_CHARACTER.match(text, end):
        return True
    is_named = text[start - 1] in _NAMING if start else asked.asks_who
    return is_named and _LAST_CHARACTER.match(text, end) is not None


def _extends(word: str, asked: Asked, *, is_single: bool) -> bool:
    lowered = word.lower().removesuffix("'s").removesuffix("’s")
    if lowered in _INSTITUTIONS:
        return lowered not in asked.text
    is_longer_name = asked.asks_who and not is_single  # a surname may follow a single given name
    return is_longer_name and lowered not in COMMON and lowered not in asked.text


def is_ordinary_word(text: str, mention: Mention, original: str) -> bool:
    """Return whether an alias in `PRONOUNS`, such as 'It' or 她, is used as an ordinary word."""
    if text[mention.start : mention.end] in _ABBREVIATIONS and original.isupper():
        return False
    if not (text[: mention.start] + text[mention.end :]).strip(" \n.。!\"'《》"):
        return False
    before = text[max(0, mention.start - 12) : mention.start]
    if _IN_QUOTES.search(before):
        return False
    is_last = _LINK_BEFORE.search(before) is not None and _ENDS.match(text, mention.end) is not None
    return not (is_last and (not original[:1].isascii() or original[:1].isupper()))


def locate(mention: Mention, positions: Sequence[int] | None) -> tuple[int, int]:
    """Return the position of a mention in the original response."""
    if positions is None:
        return mention.start, mention.end
    return positions[mention.start], positions[max(mention.start, mention.end - 1)] + 1
