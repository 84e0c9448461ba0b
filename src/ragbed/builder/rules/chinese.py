"""Find facts in Chinese texts and write questions about them.

A Chinese question has the same word order as the statement, with a question word in place of the answer. A clause
is used only if its subject is a name, or a noun such as 大桥 that is the ending of exactly one name in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ragbed.builder.rules.chinese_blanks import find_chinese_blanks
from ragbed.builder.rules.chinese_statements import has_speaker, is_doubted, is_fragment, is_planned
from ragbed.builder.rules.chinese_words import LONG_NOUNS, NOUNS, ROLES, SURNAMES, is_distinctive
from ragbed.builder.rules.facts import Fact, strip_markup
from ragbed.text import split_sentences

_HAN = r"[\u4e00-\u9fff]"
_DAY = r"[12]\d{3}年\d{1,2}月\d{1,2}日"
_MONTH = r"[12]\d{3}年\d{1,2}月(?!\d)"
_YEAR = r"[12]\d{3}年(?!\d)"
_TIME = rf"(?P<time>{_DAY}|{_MONTH}|{_YEAR})"
_NUMBER = r"\d+(?:\.\d+)?[万亿]?"
# Words that indicate that a statement is a plan, a guess, hearsay, an approximation or a denial.
UNSURE = re.compile(
    "将|拟|计划|预计|预测|可能|或许|也许|大概|大约|约|左右|近(?=[\\d一二三四五六七八九十百])|超过|至少|最多|不足|多(?=[人名万亿元])|以上|以下|传说|据传|有望"
    "|估计|估算|认为|希望|如果|尚未|没有|未能|不|并非|否认|曾计划|初步|届时|之后|正在|建议"
)
# Words whose meaning depends on the surrounding text.
_DEPENDENT = re.compile(
    "该|此|本(?!田)|其|他|她|它|这|那|我|你|上述|前者|后者|当时|当地|目前|现在|今年|去年|明年|上一|下一|昨|今天|同年|同时|此后|另|双方|两者|两家|新(?=公司|工厂|楼)|旧"
)


class _Clause(NamedTuple):
    subject: str
    rest: str  # the text after the subject
    time: str  # time expression at the start of the sentence, with a comma; may be empty


class _Text:
    """The sentences and names in a text."""

    def __init__(self, title: str, text: str) -> None:
        text = re.sub(r"(?m)^答[：:]\s*", "", strip_markup(text))
        self.title = title
        self.full = f"{title}。{text}"
        self.sentences = [part for start, end in split_sentences(text) if (part := text[start:end].strip())]
        self.names: list[str] = []
        self.before = ""  # the text before the current sentence

    def find_name(self, text: str) -> str | None:
        """Return the full name that a subject refers to, or None if the reference is unclear."""
        if re.fullmatch(NOUNS, text):
            ending = {name for name in self.names if name.endswith(text)}
            return ending.pop() if len(ending) == 1 and not self._has_rival(text, *ending) else None
        text = re.sub(r"^[\u4e00-\u9fff]{1,8}(?:上|里|内|边|岸|端|部)的", "", text)
        if not 2 <= len(text) <= 14 or _DEPENDENT.search(text) or re.search(r"[，。“”、：]", text):
            return None
        if not self._is_name(text) or not (is_person(text) or is_distinctive(text)):
            return None
        if text not in self.names:
            self.names.append(text)
        return text

    def _has_rival(self, noun: str, name: str) -> bool:
        """Check whether the title or the preceding text mentions something else that the noun could refer to."""
        others = f"{self.title}。{self.before}".replace(name, "")
        return (
            re.search(
                rf"(?<![，。、；：“”《》的和与及在从到由为是该本此子过了着把对向离上每座条家个们全原]){noun}", others
            )
            is not None
        )

    def _is_name(self, text: str) -> bool:
        if re.fullmatch(rf"《[^》]+》(?:的{_HAN}{{2,4}})?", text):
            return True
        is_repeated = self.full.count(text) > 1
        if "《" in text or re.match(
            "根据|通过|据|对|在|从|当|由|随着|截至|按照|以|为|关于|作为|但|而|因|经|其中|同时|最|第", text
        ):
            return False
        if re.search("[%％]", text):
            return False
        if re.search("的|和|与|^[一二三四五六七八九十每各全]|发布|显示|宣布|表示|说", text) and text not in self.title:
            return False
        if re.search(rf"(?<=..)(?:{NOUNS})$", text):
            return len(text) > 3 or text[-1] not in "阁寺厂塔桥"
        is_defined = len(text) > 2 and re.search(rf"(?:^|[。\n]){re.escape(text)}是", self.full) is not None
        is_full_person = is_person(text) and (len(text) > 2 or self.has_role(text))
        return is_repeated and (is_defined or is_full_person)

    def has_role(self, text: str) -> bool:
        """Check that a short name is next to a word for a person's role or action."""
        return re.search(rf"(?:{ROLES}){text}|{text}(?:说|出生|逝世|去世|毕业)", self.full) is not None


def is_person(text: str) -> bool:
    """Check whether a string could be a Chinese person's name or a transcribed name."""
    is_short = re.fullmatch(rf"{_HAN}{{2,4}}", text) is not None and text[0] in SURNAMES
    is_word = re.search(
        "公司|工程|合同|比赛|活动|项目|召回|研究|调查|工人|高层|时间|方面|成员|员工|平均|马力|国内|明确|任务|兄弟|姐妹|夫妇|家族|老师|师傅"
        "|[楼馆院塔桥寺阁厂站店镇村县局社校园]$",
        text,
    )
    is_thing = re.search(rf"(?:{LONG_NOUNS})$", text) is not None
    return "·" in text or (is_short and is_word is None and not is_thing)


def find_chinese_facts(title: str, text: str) -> Iterator[Fact]:
    """Yield the facts found in a text, clause by clause."""
    read = _Text(title, text)
    for sentence in read.sentences:
        if any(is_bad(sentence, read.full) for is_bad in (is_fragment, is_planned, is_doubted, has_speaker)):
            read.before += sentence
            continue
        yield from _quotations(sentence, read)
        yield from _definitions(sentence)
        yield from _winners(sentence)
        yield from _years_of_life(sentence)
        for clause in _clauses(sentence, read):
            for find in (_dates, _founded, _agents, _measures, _counts, _places, _people):
                yield from (fact for fact in find(clause, sentence) if _is_certain(fact, sentence))
        yield from find_chinese_blanks(sentence, title, read.full)
        read.before += sentence


def _is_certain(fact: Fact, sentence: str) -> bool:
    """Check that nothing in the answer's clause makes the statement uncertain."""
    at = sentence.find(fact.answer)
    start = max(sentence.rfind(mark, 0, at) for mark in "，。；") + 1
    end = min((place for mark in "，。；" if (place := sentence.find(mark, at)) >= 0), default=len(sentence))
    return UNSURE.search(sentence[start:end]) is None and _DEPENDENT.search(fact.question) is None


# Words that mark the end of a clause's subject.
_VERBS = (
    r"于(?=[12]\d{3}年)|由(?!于)|位于|坐落|成立于|创办于|创建于|始建于|建于|建造于|设立于|创立于|开设于|出版于|毕业于|出生于|[12]\d{3}年|全长|总部|海拔|面积|直径"
    r"|高(?=\d)|长(?=\d)|宽(?=\d)|深(?=\d)|重(?=\d)"
    r"|总投资|总造价|造价|耗资|有(?=\d)|现有|共有|藏书|是|为(?=\d)|获得|属于|归|占地|最大|总装机|装机|叶轮|主镜|航程|售价|门票|日均|拥有|以(?=\d)|每年|生产|收藏|桥面宽|主跨"
    r"|在(?=[\u4e00-\u9fff]{2,8}?(?:因病)?(?:去世|逝世|成立|开业|落成|开馆))"
    r"|(?:正式)?(?:通车|成立|开业|开馆|投产|启用|竣工|落成|建成|开工|去世|逝世|开通|开播)(?=[，。；]|$|通车)"
    r"|(?:的|现任)?(?:总经理|董事长|首席执行官|馆长|院长|校长|台长|场长|社长|主席|经理|负责人|主教练|首席指挥|市长|局长|所长|园长|船长)(?=为|是)"
)
_SUBJECT = re.compile(rf"^(?P<subject>[^，。；：“”]{{2,14}}?)(?P<rest>(?:{_VERBS}).*)", re.DOTALL)
_FRONT = re.compile(rf"^(?P<time>(?:{_DAY}|{_MONTH}|{_YEAR}|截至[12]\d{{3}}年(?:底|末|\d+月底?)))，")


def _clauses(sentence: str, read: _Text) -> Iterator[_Clause]:
    """Yield the clauses with a known subject. A clause without a subject inherits the preceding subject."""
    if "“" in sentence and re.search("[说称道]", sentence):
        return
    if re.match("根据|据|到|按照|如果", sentence):
        return
    front = _FRONT.match(sentence)
    time = f"{front['time']}，" if front else ""
    body = sentence[front.end() :] if front else sentence
    subject = None
    for part in re.split(r"[，；。]", body):
        found = _SUBJECT.match(part)
        name = read.find_name(found["subject"]) if found else None
        if found and name:
            subject = name
            yield _Clause(name, found["rest"], time)
        elif subject and re.match(rf"(?:{_VERBS})", part):
            yield _Clause(subject, part, time)
        elif found or not re.match(r"[\u4e00-\u9fff]{0,4}\d", part):
            subject = subject if found is None and len(part) < 5 else None


_ACTS = (
    "主持设计|设计|建造|承建|创办|创立|创建|创作|设立|翻译|制造|研制|开发|运营|命名|发现|起草|主持|发起|捐赠|资助"
    "|赞助|修订|指导|收集|经营|开办|磨制|挖成|领导|率领|担任|获得|提供|检查|审核|改建|汉译|执导|编写|编辑|改编"
)

# Events that can happen to a subject only once, so that a question need not state the year.
_EVENTS = (
    "(?:在[\u4e00-\u9fff]{1,10}?)?(?:正式|全面|被)?(?:建成|通车|成立|开业|上市|开工|竣工|启用|开馆|首演|首飞|立项|去世|逝世|停产|停运|停航"
    "|关闭|签订|签署|发射|升空|落成|投产|开通|开播|创办|倒闭|并网|沉没|创建|设立|创立|建造|首映|上映|出版|颁布|施行|生效|退役|列为|列入|拆除"
    "|投入使用|投入运营|首次并网|重新开放|对外开放|更名为|迁至|命名|改建为|发布)"
)


def _ask_time(time: str) -> str:
    return "哪一天" if time.endswith("日") else "哪年哪月" if time.endswith("月") else "哪一年"


def _dates(clause: _Clause, sentence: str) -> Iterator[Fact]:
    """Ask when something happened, based on a clause such as X于2024年6月1日通车."""
    found = re.match(rf"(?:于|在)?{_TIME}(?P<rest>{_HAN}[^\d，。；]{{1,18}})$", clause.rest)
    born = re.match(rf"(?:于|在)?{_TIME}(?:出生|生于)", clause.rest)
    if born and is_person(clause.subject) and not clause.time:
        yield Fact(f"{clause.subject}出生于{_ask_time(born['time'])}？", born["time"], sentence)
    elif clause.time and (event := _happened(clause.rest)):
        yield Fact(f"{clause.subject}于{_ask_time(clause.time[:-1])}{event}？", clause.time[:-1], sentence)
    elif found and not clause.time and re.match(_EVENTS, found["rest"]) and not re.search("[的称示说]$", found["rest"]):
        yield Fact(f"{clause.subject}于{_ask_time(found['time'])}{found['rest']}？", found["time"], sentence)


def _happened(rest: str) -> str:
    """Return the event after a clause's time expression, without the place where it happened, or an empty string."""
    verbs = "通车|成立|开业|开馆|投产|启用|竣工|落成|建成|开工|去世|逝世|开通|开播"
    found = re.fullmatch(rf"(?:在{_HAN}{{2,8}}?)?(?:因病)?(?P<event>(?:正式|建成)?(?:{verbs}))", rest)
    return found["event"] if found else ""


def _years_of_life(sentence: str) -> Iterator[Fact]:
    """Ask when a person was born and died, based on a phrase such as 苏婉清（1898—1976）."""
    found = re.match(r"(?P<who>[\u4e00-\u9fff·]{2,12})（([12]\d{3})年?[—–-]+([12]\d{3})年?）", sentence)
    if found and is_person(found["who"]):
        yield Fact(f"{found['who']}出生于哪一年？", f"{found[2]}年", sentence)
        yield Fact(f"{found['who']}于哪一年去世？", f"{found[3]}年", sentence)


def _founded(clause: _Clause, sentence: str) -> Iterator[Fact]:
    """Ask when something was founded, based on a clause such as X成立于1958年."""
    verbs = "成立|创办|创建|始建|建造|建|设立|创立|开设|出版|出生"
    found = re.match(rf"(?:由.{{2,14}}?)?(?P<verb>{verbs})于{_TIME}$", clause.rest)
    passive = re.match(rf"由.{{2,14}}?于{_TIME}(?P<verb>{_ACTS})$", clause.rest)
    if passive:
        asked = f"{clause.subject}于{_ask_time(passive['time'])}{passive['verb']}？"
        yield Fact(
            asked.replace("于哪一年命名", "于哪一年被命名").replace("于哪一年发现", "于哪一年被发现"),
            passive["time"],
            sentence,
        )
    if found:
        yield Fact(f"{clause.subject}{found['verb']}于{_ask_time(found['time'])}？", found["time"], sentence)


def _agents(clause: _Clause, sentence: str) -> Iterator[Fact]:
    """Ask who did something, based on a clause such as X由沈砚秋设计."""
    found = re.match(
        rf"由(?P<role>{ROLES})?(?P<who>[\u4e00-\u9fff·]{{2,12}}?)(?P<rest>(?:[于在](?:{_DAY}|{_MONTH}"
        rf"|{_YEAR}))?(?:(?:{_ACTS})(?:于(?:{_DAY}|{_YEAR}))?|建于{_YEAR}(?:至{_YEAR})?))$",
        clause.rest,
    )
    if found is None or re.search("和|与|、|等|的", found["who"]):
        return
    is_body = re.search(rf"(?:{LONG_NOUNS}|[院社厂局会])$", found["who"]) is not None
    if (not is_body and not is_person(found["who"])) or (is_body and not is_distinctive(found["who"])):
        return
    yield Fact(
        f"{clause.time}{clause.subject}由{'哪个机构' if is_body else '谁'}{found['rest']}？", found["who"], sentence
    )


_UNITS = (
    "平方公里|平方米|公里|千米|厘米|毫米|米|公顷|亩|公斤|千克|克|吨|兆瓦|千瓦|兆赫|毫安时|摄氏度|小时|分钟|马力|毫开"
)
_KINDS = (
    "全长|总长|长|高|宽|深|重|海拔|面积|占地|直径|主镜直径|叶轮直径|最大水深|水深|最大坡度|总装机容量|装机容量"
    "|航程|续航里程|最大下潜深度|体长|体重|过火面积|容量|总投资|总造价|造价|耗资|总价|奖金|门票|售价|年产能"
    "|播出频率|错误率|含盐量"
)


def _measures(clause: _Clause, sentence: str) -> Iterator[Fact]:
    """Ask for a measured value or an amount of money."""
    found = re.match(rf"(?P<kind>{_KINDS})(?P<is>为|达|是)?(?P<value>{_NUMBER}(?P<unit>{_UNITS}|元|%))$", clause.rest)
    if found and not clause.time and not is_person(clause.subject):
        asked = "多少" if found["unit"] in ("%", "元") and found["unit"] == "%" else f"多少{found['unit']}"
        yield Fact(f"{clause.subject}{found['kind']}{found['is'] or ''}{asked}？", found["value"], sentence)


def _counts(clause: _Clause, sentence: str) -> Iterator[Fact]:
    """Ask how many people or things there are, based on a clause such as 现有员工2300人."""
    found = re.match(
        rf"(?P<verb>现有|共有|有|拥有|收藏|藏书|生产|接待|运送)(?P<what>{_HAN}{{0,5}})(?P<value>{_NUMBER}(?P<unit>人次|人|名|个|张|件|册"
        rf"|部|台|辆|架|所|家|栋|块|条|座|公斤|吨|项))(?P<rest>{_HAN}{{0,6}}?)(?:和\d.*)?$",
        clause.rest,
    )
    if found is None or re.search("遇难|死亡|受伤|失踪|参加|参赛|出庭|获奖|被捕|以", found["rest"]):
        return
    if found["verb"] in ("生产", "接待", "运送") and not clause.time:
        return
    asked = f"{clause.time}{clause.subject}{found['verb']}{found['what']}多少{found['unit']}{found['rest']}？"
    yield Fact(asked, found["value"], sentence)


def _places(clause: _Clause, sentence: str) -> Iterator[Fact]:
    """Ask where something is located, or where a person was born."""
    found = re.match(
        rf"(?P<lead>{_YEAR})?(?P<verb>总部位于|总部设在|出生于|位于)(?P<place>{_HAN}{{2,8}})$", clause.rest
    )
    if (
        found
        and re.search("[省市县区镇村乡岛国州府都城港湾山河湖路街洲]$", found["place"])
        and not re.search("的|和|与", found["place"])
    ):
        yield Fact(f"{clause.subject}{found['verb']}哪里？", found["place"], sentence)


_OFFICES = (
    "总经理|董事长|首席执行官|馆长|院长|校长|台长|场长|社长|主席|经理|负责人|主教练|首席指挥|市长|局长|所长|园长|船长"
)


def _people(clause: _Clause, sentence: str) -> Iterator[Fact]:
    """Ask who has a role in an organisation, based on a clause such as X总经理为石安妮."""
    found = re.match(rf"(?:的|现任)?(?P<role>{_OFFICES})(?:为|是)(?:{ROLES})?(?P<who>{_HAN}{{2,4}})$", clause.rest)
    if found and not clause.time and is_person(found["who"]) and not is_person(clause.subject):
        yield Fact(f"{clause.subject}的{found['role']}是谁？", found["who"], sentence)


def _winners(sentence: str) -> Iterator[Fact]:
    """Ask who won a prize in a given year."""
    found = re.match(
        rf"(?:{ROLES})?(?P<who>{_HAN}{{2,4}}?)(?:凭借[^，。]{{2,20}}?)?(?P<verb>获得"
        rf"|夺得)(?P<what>{_YEAR}{_HAN}{{2,14}}(?:奖|冠军))[，。]",
        sentence,
    )
    if found and is_person(found["who"]):
        yield Fact(f"谁{found['verb']}{found['what']}？", found["who"], sentence)


_MIN_QUOTED = 8  # minimum length of a quotation in characters; shorter ones are rarely unique


def _quotations(sentence: str, read: _Text) -> Iterator[Fact]:
    """Ask for the speaker of a quotation that names its subject."""
    found = re.search(
        rf"“(?P<words>[^“”]{{{_MIN_QUOTED},60}}?)[，。]?”，?(?:[\u4e00-\u9fff]{{0,12}}?(?:{ROLES}))?(?P<who>[\u4e00-\u9fff·]{{2,4}}?)说。$",
        sentence,
    )
    is_named = found is not None and any(name in found["words"] for name in read.names if len(name) > 3)
    if found and is_named and is_person(found["who"]) and read.full.count(found["who"]) > 1:
        yield Fact(f"谁说过“{found['words'].rstrip('，。')}”？", found["who"], sentence)


def _definitions(sentence: str) -> Iterator[Fact]:
    """Ask for a term that the text defines, based on a sentence such as 货位是指存放一个托盘的位置."""
    found = re.match(rf"(?P<term>{_HAN}{{2,8}})是指(?P<means>[^。；]{{8,60}})。$", sentence)
    if found and not _DEPENDENT.search(sentence):
        yield Fact(f"“{found['means']}”用哪个术语表示？", found["term"], sentence)
