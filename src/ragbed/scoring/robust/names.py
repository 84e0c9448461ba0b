"""Check whether a mention is a complete name rather than part of a longer name or an ordinary word."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ragbed.schema import Lang
from ragbed.scoring.robust.candidates import COMMON, SURNAMES
from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.patterns import lazy, words
from ragbed.scoring.robust.question import Asked

_RIGHT = lazy(r"[ -]([A-Z][\w'’-]*)(?=([.,;:!?)]|'s|’s)?)")
_LEFT = lazy(r"(?:^|(?<=[^\w]))((?:[A-Z]\.)+|St\.|[A-Z][\w-]*)[ -]$")  # a full stop after a word ends a sentence
_TITLES = words(
    "mr mrs ms miss dr sir lord lady dame professor prof president director minister mayor judge captain "
    "coach author king "
    "queen prince princess saint governor senator chancellor chairman ceo general colonel architect designer "
    "writer actor filmmaker "
    "actress singer painter artist poet novelist chef doctor engineer winner champion chairwoman secretary premier"
)
# Words that turn a name into a different name, e.g. 'Boston' into 'Boston University'.
_INSTITUTIONS = words(
    "university college school academy institute foundation bank air airlines airways railway railways post "
    "times herald "
    "tribune gazette news street road avenue square bridge hospital museum library hotel press records prize "
    "award medal cup "
    "trophy society association committee council trust fund memorial station church cathedral orchestra choir theatre "
    "theater ballet opera gallery jr junior sr senior"
)
_PREFIXES = words(
    "new north south east west old fort port mount upper lower great little grand royal central latin equatorial san "
    "santa st"
)
# Folded names that contain the name of another place.
_LONGER_NAMES = words(
    "northern_ireland papua_new_guinea guinea_bissau guinea-bissau american_samoa british_columbia lower_saxony "
    "people's_republic_of_korea democratic_republic_of_congo democratic_republic_of_the_congo "
    "南苏丹 北爱尔兰 赤道几内亚 几内亚比绍 新墨西哥 美属萨摩亚 新泽西 新西兰 印度尼西亚 印度洋 内蒙古 罗马尼亚 "
    "发展中国家 南美国家 北美国家 拉美国家 欧美国家"
)
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
# Aliases that are also function words count only if the text marks them as names.
PRONOUNS = words(
    "it us her him them he she they we you i me who what where when how why this that these those one some all other "
    "up now then here there so may will can must the and or if but do be is was my his our your its mine ours la un "
    "他 她 它 我 你 我们 你们 他们 她们 它们 这 那 谁 什么 这里 那里 大家 自己"
)
_ABBREVIATIONS = frozenset({"us", "who", "la", "un"})  # in capitals, these words are abbreviations of names
_TITLE_BEFORE = lazy(
    r"(?:\"|'|《|〈|\b(?:called|titled|entitled|named|film|movie|novel|book|song|album|band|series) )$"
)
_TITLE_AFTER = lazy(r"\"|'(?!s\b)|》|〉")
_LINK_BEFORE = lazy(r"(?:\b(?:is|was|were|are|just|only|exactly)|:|是|为) ?$")
_ENDS = lazy(r"[.!。]?\s*(?:$|\n)")
# After these words, 'one' is a number, as in 'Just one.'
_COUNTED_BEFORE = lazy(r"\b(?:just|only|exactly)(?: the)? $")
_CLAUSE_ENDS = lazy(r"[.;!:]|,(?! (?:no|not|or|but|sorry|wait|rather|actually|in fact)\b)|\s*(?:$|\n| -)")


def is_part_of_name(
    original: str, span: tuple[int, int], asked: Asked, lang: Lang, initials: frozenset[str] | None
) -> bool:
    """Return whether a name in the original response is part of a longer name, e.g. Baku in 'Baku Air'.

    Args:
        original: The response.
        span: The position of the mention in it.
        asked: The question.
        lang: The language.
        initials: For a single word, which can be another person's surname: the initials of the right given names.
    """
    start, end = span
    is_single = initials is not None
    if lang == "zh":
        return _is_part_zh(original, start, end, asked)
    right = _RIGHT.match(original, end)
    if right and _extends(right[1], asked, is_single=is_single):
        return True
    left = _LEFT.search(original, max(0, start - 24), start)
    if left is None or initials is None:
        return False
    word = left[1].lower().strip(".")
    if word in _PREFIXES:
        return word not in asked.text
    if not asked.asks_who or word in _TITLES or word in COMMON or (len(word) > 1 and word in asked.text):
        return False
    return word[0] not in initials


def is_in_longer_name(text: str, mention: Mention, original: str, positions: Sequence[int] | None) -> bool:
    """Return whether a mention in a folded response is inside another name, e.g. Ireland in 'Northern Ireland'.

    An English name must start with a capital letter: 'northern Cyprus' is a part of Cyprus.
    """
    for name, at in _find_longer_names(text[mention.start : mention.end]):
        start = mention.start - at
        if start >= 0 and text.startswith(name, start):
            first = start if positions is None else positions[start]
            if not original[first].islower():
                return True
    return False


@lru_cache(maxsize=16_384)
def _find_longer_names(name: str) -> tuple[tuple[str, int], ...]:
    """Return the longer names that contain a name, and its position in them."""
    return tuple((longer, longer.find(name)) for longer in _LONGER_NAMES if name in longer and longer != name)


def _is_part_zh(text: str, start: int, end: int, asked: Asked) -> bool:
    if _is_part_of_title(text, start, end) or _is_part_of_person(text, start, end, asks_who=asked.asks_who):
        return True
    found = _PLACES_ZH.match(text, end)
    return found is not None and found[0] not in asked.text and found[0] not in text[start:end]


def _is_part_of_title(text: str, start: int, end: int) -> bool:
    """Return whether a mention is only part of a title in 《…》."""
    opening, closing = text.rfind("《", max(0, start - 30), start), text.find("》", end, end + 30)
    if opening < 0 or closing < 0 or "》" in text[opening:start]:
        return False
    return (opening + 1, closing) != (start, end)


def _is_part_of_person(text: str, start: int, end: int, *, asks_who: bool) -> bool:
    """Return whether a name such as 王建 (surname plus one character) is the start of a longer name (王建国)."""
    if end - start != 2 or text[start] not in SURNAMES:
        return False
    if asks_who and _THIRD_CHARACTER.match(text, end):
        return True
    is_named = text[start - 1] in _NAMING if start else asks_who
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
    before, after = text[max(0, mention.start - 12) : mention.start], text[mention.end : mention.end + 3]
    if _TITLE_BEFORE.search(before) and (_TITLE_AFTER.match(after) or before[-1:] == " "):
        return False
    if text[mention.start : mention.end] == "one" and _COUNTED_BEFORE.search(before):
        return _CLAUSE_ENDS.match(text, mention.end) is None
    is_last = _LINK_BEFORE.search(before) is not None and _ENDS.match(text, mention.end) is not None
    return not (is_last and (not original[:1].isascii() or original[:1].isupper()))


def locate(mention: Mention, positions: Sequence[int] | None) -> tuple[int, int]:
    """Return the position of a mention in the original response."""
    if positions is None:
        return mention.start, mention.end
    return positions[mention.start], positions[max(mention.start, mention.end - 1)] + 1
