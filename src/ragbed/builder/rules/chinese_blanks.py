"""Ask for a value in a Chinese sentence that can be understood without the sentences around it.

If the first clause contains the value and names its subject, a question word takes the place of the value. Otherwise
the question quotes the sentence, with a blank in place of the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ragbed.builder.rules.chinese_statements import NOT_STATED
from ragbed.builder.rules.chinese_words import LONG_NOUNS, NOUNS, ROLES, SURNAMES, is_distinctive
from ragbed.builder.rules.computable import is_computable
from ragbed.builder.rules.facts import BLANK, Fact, is_balanced

_HAN = r"[\u4e00-\u9fff]"
_DAY = r"[12]\d{3}年\d{1,2}月\d{1,2}日"
_MONTH = r"[12]\d{3}年\d{1,2}月(?!\d)"
_YEAR = r"[12]\d{3}年(?!\d|代|间|来|前|初|度|级|版|年|末|底|以|至|到|—|-|起)"
_TIME = rf"(?:{_DAY}|{_MONTH}|{_YEAR})"
_FRONT = re.compile(rf"(?P<time>{_TIME})(?:，|(?={_HAN}))")
_INNER = str.maketrans("《》“”", "〈〉‘’")  # replaces quotation marks inside a quoted title
_SIZES = (14, 90)  # minimum and maximum length of a sentence in characters
_MAX_TITLE = 40  # maximum length, in characters, of a title in a question
_NAMED = r"(?:(?![有是为于由在被的和与及向把将从至了以对或等])[\u4e00-\u9fff])"  # a character allowed in a name
_PLACE = "镇市县村山河湖岛省区寺塔桥窑"
# Words at the start of a clause whose subject is in another sentence.
ACTION = re.compile(
    "[在从由为以对经据因随当自每全各一两三四五六七八九十几赴任获建迁改被受应调升转向至到与和及通位连]|许多|不少|考入|进入|毕业|前往|来到|返回|加入|创办|创建|成立"
    "|出任|担任|参加|率领|组织|主持|发起|开办|设立|兴建|修建|更名|合并|接收|收购|投资|引进|聘请|邀请|新建|扩建|重建|开设|发现|出版|发表|编|写|著|当选|首|最"
)
# Words that refer to another sentence or to the time of writing.
_ELSEWHERE = re.compile(
    "该|此|这|那(?!曲)|本(?=[^地土科来身质源草]|$)|他|她|它|其(?!中)|我|你|您|同年|次年|翌年|当[年时天晚地日月]|目前|现在|现今|如今|今天|今年|去年|随后|后来|之后|此前"
    "|同时|上述|前者|后者|另[一外有]|双方|两者|二者|不久|近年|至今|迄今|以下|如下|最终|从此|次日|同日|同月|首先|再次|上一|下一|也|还|又|则|对方|分别"
)
_UNSURE = re.compile(
    "将(?!军|领)|拟|计划|预计|预测|可能|或许|也许|大概|大约|约|左右|近(?=[\\d一二三四五六七八九十百])|超过|超(?=\\d)|逾|至少|最多|不足|不到|将近|接近|多达|以上|以内|以下|上下|不超过|有余|出头|开外|不等|不过(?=\\d)|光景|突破|站上|破(?=\\d)|传说|相传|据传"
    "|据说|有望|估计|估算|认为|希望|如果|尚未|没有|未能|并非|否认|初步|届时|建议|一说|或说|曾称|提出|提议|要求"
)
# Sentences that describe a recurring event but do not identify a single occurrence of it.
_REPEATED = re.compile("喷发|^.{2,6}于[^，]{5,12}举[行办]。")
_COUNTED = (
    "平方公里|平方千米|平方米|立方米|公里|千米|厘米|毫米|海里|米|公顷|亩|公斤|千克|毫克|克|斤|吨|兆瓦时|兆瓦|千瓦时|千瓦|瓦|分贝|摄氏度|小时|分钟|秒|天|周年|万元|元|欧元|美元|英镑"
    "|日元|人次|册次|人|名|位|个百分点|个月|个小时|个工作日|个|张|件|册|卷|部|台|辆次|辆|架|所|家|栋|块|条|座|项|种|头|只|株|棵|户|间|层|篇|枚|艘|节|级|场|支|套|封|幅|处|对|口|眼"
    "|孔|根|通|尊|坛|班|顶|围|包|粒|丛|副|趟|例|盆|盘|页|单位|单|门|朵|度|次(?!列车|航班|特快|动车|快车|班[车次船]|夜[航班车]|车|船|轮渡)|集|首|轮|箱|桶|幢|匹|颗|段|届学生|毫升|升|票|起|本|盏|份|把|扇|袋|瓶|盒|罐|束|公顷|岁|道|片|点位|％|%"
)
# Chinese numerals from eleven upwards, excluding approximate ones such as 七八十.
_DIGIT = "[一二两三四五六七八九]"
_NUMERAL = (
    rf"(?:{_DIGIT}?十{_DIGIT}|{_DIGIT}十|{_DIGIT}百(?:零{_DIGIT}|{_DIGIT}十{_DIGIT}?)?|{_DIGIT}千(?:{_DIGIT}百)?"
    rf"|{_DIGIT}万(?:{_DIGIT}千)?)"
)
_COUNT = re.compile(
    rf"(?<![\d.,第年月届号、:：/／一二两三四五六七八九十百千几数或—~～-])(?<!\d[分时米元点])(?<!\d\s)(?<!小时|男子|女子|零下)"
    rf"(?P<value>\d{{1,3}}(?:,\d{{3}})+[万亿]?|\d+(?:\.\d+)?[万亿]?|{_NUMERAL}(?!块))(?P<unit>{_COUNTED})(?![多余来半几出上起或\d次级村镇乡县市街路巷桥沟湾山岭河])(?!（[^）]*\d|[/／]\d|（[组套件只个份台人][）、/])(?!置信)"
)
# Words that indicate a past event, and dates without a year that are not the start or end of a period.
_PAST = re.compile("了|已|曾|才|发生|去世|逝世|通过|揭晓|落幕|闭幕|启用|通车|施行|正式|倒|塌")
_DAYS = re.compile(r"(?<![\d年至到前—–-])\d{1,2}月\d{1,2}日(?![前至到—–-]|之前|以前|左右|上下)")
_MONEY = frozenset({"元", "万元", "欧元", "美元", "英镑", "日元"})
_PERSON = re.compile(
    rf"(?:{ROLES}|校长|馆长|院长|社长|会长|主任|所长|书记|知县|知府|总督|巡抚|县令|传教士|企业家|教育家|商人|僧人|艺人|演员|科学家|学者|收藏家|书法家|考古学家|人类学家|民俗学家|剧作家|翻译家|水利专家)"
    rf"(?P<value>[\u4e00-\u9fff]{{2,3}}|[\u4e00-\u9fff]{{1,6}}·[\u4e00-\u9fff]{{1,8}})(?=[，。、；（于在]|(?:设计|创办|主持|捐|发现|担任|率|提出|创建|命名|编|任|带领|出资|首次|撰写|绘制|执导|的))"
)


_INSTRUCTION = (
    "(?:取(?!得|消)|加入|放入|倒入|把|先|拨打|服用|每[次日]服|按[下住]|插入|切[成勿]|静置|保持|注意|避免|勿|不要)"
)
# Matches sentences that contain no news agency credit or photo credit and do not start with a fragment.
_FORM = re.compile(
    r"(?!.*(?:[ \u3000]{2}|[\u4e00-\u9fff）][ \u3000]+[\u4e00-\u9fff]|记者[｜（ ]|摄 |图片来源|日电|讯[ （])"
    r"|[\d.]+[%％]，)"
    r"[^“”：？！…|\[\]_]+。"
)
_SHORT_QUOTE = re.compile("“([^“”，。？！；：]{1,12})”(?!的?(?:他|她|[\u4e00-\u9fff]{0,4}说))")  # quoted name or term
_LABEL = re.compile(r"(?!问|时间|地点|电话)[\u4e00-\u9fff]{1,6}：")  # matches a heading before a sentence
_EXCERPT = (14, 80)  # minimum and maximum number of characters in a sentence quoted as an excerpt
_MIN_DIGITS = 3  # numbers with fewer digits are usually easy to guess
_MIN_HAN = 9  # minimum number of Han characters in a quoted sentence, not counting the value
_MIN_TITLE_HAN = 4  # minimum number of Han characters that a title needs to identify a text
# Endings of titles that are too generic to identify a text, e.g. 公告.
_COMMON_TITLE = re.compile(
    "(?:纪要|公告|通知|报告|说明|日志|指南|问答|手册|目录|启事|讣告|简介|须知|规则|清单|来信|新闻|笔记|通报|总结|记录|介绍|[:：])$"
)


class _Blank(NamedTuple):
    """A value in a sentence, with a question word that can replace it and a phrase that asks for the omitted value."""

    word: str
    ask: str
    start: int
    end: int
    answer: str


def find_chinese_blanks(sentence: str, title: str, full: str) -> Iterator[Fact]:
    """Yield a question for each value in a sentence that names its subject.

    Args:
        sentence: The sentence.
        title: Title of the text.
        full: The title and the text.
    """
    if not _SIZES[0] <= len(sentence) <= _SIZES[1]:
        return
    if _FORM.fullmatch(sentence):
        yield from _find_clear(sentence, title, full)
    text = _SHORT_QUOTE.sub(r"‘\1’", sentence)
    label = _LABEL.match(text)
    if is_balanced(text) and _FORM.fullmatch(text[label.end() :] if label else text):
        yield from (fact._replace(sentence=sentence) for fact in _find_excerpts(text, title, full))


def _find_clear(sentence: str, title: str, full: str) -> Iterator[Fact]:
    """Ask for the values in a sentence that names its subject and can be understood on its own."""
    front = _FRONT.match(sentence)
    body = (sentence[front.end() :] if front else sentence).removeprefix("是")
    is_named = _starts_with_name(body, title, full)
    if (
        _ELSEWHERE.search(sentence)
        or NOT_STATED.search(sentence)
        or _REPEATED.search(sentence)
        or not (is_named or _is_about_title(body, title, full))
    ):
        return
    for blank in sorted(_find_values(sentence), key=_guessability):
        fact = _ask(sentence, blank) if is_named else None
        if fact := fact or _quote(sentence, blank, title):
            yield fact


def _find_excerpts(sentence: str, title: str, full: str) -> Iterator[Fact]:
    """Ask for the values in any sentence that states a fact; the question gives the title and quotes the sentence."""
    is_size = _EXCERPT[0] <= len(sentence) <= _EXCERPT[1]
    is_listed = re.match(rf"[\d一二三四五六七八九十]+[、.．]|[（(①-⑩]|{_INSTRUCTION}", sentence) is not None
    size = len(re.findall(_HAN, title))
    if not is_size or is_listed or size < _MIN_TITLE_HAN or (size == _MIN_TITLE_HAN and _COMMON_TITLE.search(title)):
        return
    if NOT_STATED.search(sentence) or _REPEATED.search(sentence):
        return
    rank = 3 if _ELSEWHERE.search(sentence) else 2
    for blank in sorted(_find_values(sentence), key=_guessability):
        before, after = sentence[: blank.start], sentence[blank.end :]
        is_list = re.search(r"\d[^，。；]{0,3}[、和至到—~～-]$", before) or re.match(r"[、和至到—~～-]\d", after)
        same = re.findall(rf"{re.escape(before)}[^，。；]+?{re.escape(after)}", full)
        is_small = re.fullmatch(r"\d\D*|24小时|365天|100[%％]", blank.answer) is not None  # too easy to guess
        if (
            is_small
            or re.search("[（每]$|《[^》]*$", before)
            or is_list
            or len(same) > 1
            or len(re.findall(_HAN, before + after)) < _MIN_HAN
        ):
            continue
        if fact := _quote(sentence, blank, title):
            yield fact._replace(rank=rank)


def _starts_with_name(body: str, title: str, full: str) -> bool:
    """Check that a sentence starts with a name that is clear without the title."""
    if re.match("[年月季期][内度初末中]|全年|文[章中]|报[道告]", body):
        return False
    if re.match("《[^》]+》", body):
        return True
    own = _in_title(body, title)
    is_named = re.search(rf"(?:{LONG_NOUNS})$", own) is not None
    if is_named and re.search(rf"(?:^|[“《：（\d年的]|{ROLES}){re.escape(own)}", title):
        return True
    named = re.match(rf"({_NAMED}{{2,12}}?(?:{LONG_NOUNS}))(?!的)", body)
    if named and is_distinctive(named[1]) and not re.match(f"(?:{NOUNS})", body) and not ACTION.match(body):
        return True
    return _starts_with_person(body, full)


def _in_title(body: str, title: str) -> str:
    """Return the name at the start of a sentence if the title also contains it, or an empty string."""
    size = max((size for size in range(2, 15) if body[:size] in title), default=0)
    is_place = size == 2 and re.match(rf"..[{_PLACE}]", body) is not None
    return body[:size] if is_place or (size > 2 and is_distinctive(body[:size])) else ""


def _is_about_title(body: str, title: str, full: str) -> bool:
    """Check that a sentence starts with a title word, or with a noun such as 大桥 that refers to a title word."""
    noun = re.match(rf"(?:{NOUNS})", body)
    named = re.search(rf"{_HAN}{{2,10}}{noun[0]}", title) if noun else None
    if _in_title(body, title) or (named is not None and is_distinctive(named[0])):
        return True
    own = body[:2]
    if own in title and is_distinctive(own) and full.count(own) > 3 and not re.match(f"(?:{NOUNS})", own):
        return True
    names = (title[start : start + size] for size in range(6, 2, -1) for start in range(len(title) - size + 1))
    name = next((name for name in names if full.count(name) > 2), "")
    return name in body and is_distinctive(name) and not ACTION.match(body)


def _starts_with_person(body: str, full: str) -> bool:
    role = re.match(rf"{_NAMED}{{0,6}}?(?:{ROLES})(?P<who>{_HAN}{{2,3}})", body)
    who = role["who"] if role else body[:3]
    if who[0] not in SURNAMES or (role is None and ACTION.match(body)):
        return False
    name = next((who[:size] for size in (3, 2) if full.count(who[:size]) > 1), "")
    is_person = bool(role) or re.search(rf"(?:{ROLES}){name}|{name}(?:（|出生|逝世|去世|毕业)", full) is not None
    return bool(name) and is_person


def _find_values(sentence: str) -> Iterator[_Blank]:
    for found in _COUNT.finditer(sentence):
        is_money = found["unit"] in _MONEY or _is_price(found, sentence)
        kind = "百分比" if found["unit"] in "％%" else "金额" if is_money else "数量"
        yield _Blank(f"多少{found['unit']}", f"什么{kind}", *found.span(), found[0])
    for found in re.finditer(rf"(?<![\d至到—–、和与-]){_TIME}", sentence):
        word = {"日": "哪一天", "月": "哪年哪月", "年": "哪一年"}[found[0][-1]]
        yield _Blank(word, word, *found.span(), found[0])
    for found in _DAYS.finditer(sentence) if _PAST.search(sentence) else ():
        yield _Blank("哪一天", "哪一天", *found.span(), found[0])
    for found in _PERSON.finditer(sentence):
        is_whole = found["value"][-1] not in "等们者和与为是的"
        if is_whole and (found["value"][0] in SURNAMES or "·" in found["value"]):
            yield _Blank("谁", "谁的名字", *found.span("value"), found["value"])


def _is_price(found: re.Match[str], sentence: str) -> bool:
    """Check that 块 is used as a colloquial word for money: 一场收2600块, 花了260块置办."""
    is_paid = re.search("(?:[花收卖付赚值罚赔]|工资|价|票)了?$", sentence[: found.start()])
    return found["unit"] == "块" and bool(is_paid or re.match("钱|[，。；、）]", sentence[found.end() :]))


def _guessability(blank: _Blank) -> int:
    """Return how easily a value can be guessed: 0 for exact numbers and names, 1 for years, 2 for small numbers."""
    if blank.ask == "哪一年":
        return 1
    is_exact = re.search(r"\.|\d[万亿]", blank.answer) or len(re.findall(r"\d", blank.answer)) >= _MIN_DIGITS
    return 0 if is_exact or blank.ask != "什么数量" else 2


def _is_certain(sentence: str, blank: _Blank) -> bool:
    """Check that a value's clause states the value as a fact, and that the sentence does not repeat the value."""
    start = max(sentence.rfind(mark, 0, blank.start) for mark in "，；") + 1
    end = min(place for mark in "，；。" if (place := sentence.find(mark, blank.end)) >= 0)
    others = sentence[: blank.start] + sentence[blank.end :]
    return _UNSURE.search(sentence[start:end]) is None and sentence[blank.start : blank.end] not in others


def _quote(sentence: str, blank: _Blank, title: str) -> Fact | None:
    """Write a question that names the title and quotes the sentence with a blank in place of the value."""
    if not _is_certain(sentence, blank) or blank.answer[:5] in title:
        return None
    if re.search("[|_]", title) or not 2 < len(title) <= _MAX_TITLE:
        return None
    quoted = f"{sentence[: blank.start]}{BLANK}{sentence[blank.end :]}"
    inner = title.translate(_INNER)
    asked = f"《{inner}》一文有这样一句：“{quoted}”空格处应填{blank.ask}？"
    return None if is_computable(asked, blank.answer, "zh") else Fact(asked, blank.answer, sentence, rank=1)


_COMPLETE = re.compile(
    r"(?:后|前|时|中|以来|期间|的|以后|以前|之际|为|是|和|与|由于|因为|随着|通过|为了|合作|联合|共同|一起)$"
)


def _ask(sentence: str, blank: _Blank) -> Fact | None:
    """Replace the value with a question word if the main clause contains the value and starts with the subject."""
    front = _FRONT.match(sentence)
    lead = front.end() if front else 0
    end = min(place for mark in "，；。" if (place := sentence.find(mark, lead)) >= 0)
    clause = sentence[lead:end]
    if not _is_certain(sentence, blank) or not _is_complete(clause) or blank.end > end:
        return None
    if front and blank.start == 0:  # e.g. 1934年，江南陶业学校在景溪镇成立
        comma = "，" if clause[0] in "年月日天" else ""
        is_whole = front[0].endswith("，") or clause[0] == "是"
        return Fact(f"{blank.word}{comma}{clause}？", blank.answer, sentence) if is_whole else None
    is_odd = blank.word == "谁" or blank.word[-1] in "%％" or (front and blank.word.startswith("哪"))
    if blank.start < lead or is_odd:
        return None
    place = blank.start - lead
    asked = clause[:place] + blank.word + clause[place + blank.end - blank.start :]
    return Fact(f"{sentence[:lead]}{asked}？", blank.answer, sentence)


def _is_complete(clause: str) -> bool:
    """Check that a clause is a complete statement rather than an introduction."""
    is_whole = len(clause) > 7 and "（" not in clause and _COMPLETE.search(clause) is None
    return is_whole and not re.match("在|随着|由于|因为|为了|当|经过|作为|除了|自从|直到|截至", clause)
