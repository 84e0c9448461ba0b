"""Find other candidates for the answer in a response: names, dates and quantities of the answer's type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from ragbed.scoring.robust.gold import Asked, Gold, GoldSlot
from ragbed.scoring.robust.match import FoldedResponse, Mention
from ragbed.scoring.robust.name_patterns import ORGANISATIONS, YES_OR_NO
from ragbed.scoring.robust.normalise import fold
from ragbed.scoring.robust.patterns import lazy, words
from ragbed.scoring.robust.units import LOOSE, are_same

MAX_CANDIDATES = 8
_CAPITAL = "[A-Z\u00c0-\u00de\u0370-\u042f]"
_NAME = lazy(
    rf"(?<![\w']){_CAPITAL}[\w'’.-]*(?: (?:of |de |van |von |der |the |al-)?{_CAPITAL}[\w'’.-]*)*"
    rf"|\"[A-Z][^\"\n]{{1,60}}\""
)
# Capitalised words that are not names.
COMMON = words(
    "the a an it its he she they we i you this that these those in on at by for from to of with as and or but so yes "
    "no not if when while after before although though however therefore thus unfortunately based according answer "
    "final question doc docs document documents passage passages context note here there who what which where why how "
    "second third first finally gold silver bronze everyone some many most both either neither unlike despite since "
    "because until during between among result also then now today january february march april may june july august "
    "september october november december monday tuesday wednesday thursday friday saturday sunday rumours rumors "
    "critics organisers organizers construction attendance north south east west more fewer about around over under "
    "least up down was is are were did does do can could would will should sorry information mr mrs ms dr professor "
    "president director probably possibly perhaps maybe likely apparently presumably"
)
# Words that often start a sentence or a heading.
_STARTERS = words(
    "her his their our my your one two three four five six all each every another others others' details explanation "
    "reason reasons summary conclusion evidence statement statements source sources article articles text texts only "
    "just even still yet once given considering looking going early late later next last several other such same "
    "please sure certainly absolutely great thanks hello okay inc ltd corp llc plc let although whether whereas early "
    "final short official officials newspapers reports experts people someone"
)
_NOBLE = words("king queen prince princess emperor empress sir lord lady dame duke duchess count countess saint")
# Words that indicate missing information, e.g. Unknown or Insufficient. At the start of a sentence, they are not names.
_NEGATIVE = lazy(
    "^(?:(?!united$)(?:un|in|im|non)[a-z-]*(?:ed|able|ible|ain|ive|ete|ate|ent|own|sure|clear|told)|none|nothing"
    "|nobody|nowhere|neither|cannot|unable|null|nil|zero|absent|beyond|silent|pass|missing|impossible)$"
)
_CLAUSE = lazy("[,。;:!?\n]|但是?|却|然而|不过")
_FILLER = lazy(r"(?:是|为|由|给了?|叫|(?<!存)在|归|:)(?:了)?([\u4e00-\u9fff·]{2,9}|《[^》]{1,20}》|[a-z][a-z ]{2,20})")
SURNAMES = frozenset(
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖"
    "邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文庞樊兰殷施陶洪翟安颜倪严牛温芦季俞章鲁葛伍韦申尤毕聂丛焦向柳邢骆"
    "岳齐梅庄辛管祝左涂谷祁时舒耿牟卜詹关苗凌费纪靳盛童欧甄项曲成游阳裴席卫查屈鲍位覃霍翁隋甘景薄单包司柏宁柯阮桂闵解强柴华车冉房边辜"
    "尉诸慕司欧上皇夏令宇长东西南北百闻独端"
)
_LEADING = lazy(
    r"^(?:结果|后来|最后|最终|实际上?|其实|于是|官方|冠军|得主|夺冠的|获奖者)*([\u4e00-\u9fff·]{2,8}?)"
    r"(?=获|夺|以|凭|在|于|才|击|战|胜|领|力|第一|赢|出任|担任|接|写|设|画|主|举|创|当|成|从|比|超|为|负|的)"
)
_FUNCTION = lazy(
    r"^[他她它这那该此其谁什哪怎因所有没不无未并也都还就才又再很最更某]|文档|资料|文章|材料|原因|情况|问题"
    r"|答案|信息|时候|一[个些篇次]|错误|有误"
    "|^(?:比赛|活动|项目|奖项|奖金|小说|作者|电影|作品|工程|会议|传闻|传言|公司|城市|冠军|亚军|人数|时间"
    "|日期|地点|主办方|评委会|最终|实际|官方)"
)


def find_candidates(
    slot: GoldSlot, gold: Gold, response: FoldedResponse, asked: Asked, own: Sequence[Mention]
) -> list[Mention]:
    """Return the mentions of other candidates that could answer the question; a name cannot answer with yes or no."""
    if not slot.forms.isdisjoint(YES_OR_NO):
        return []
    if slot.dates:
        found = _dates(slot, response)
    elif slot.quantities:
        found = _quantities(slot, asked, response, own)
    else:
        found = (_names_zh if gold.lang == "zh" else _names_en)(response, asked, own)
    kept = (each for each in found if not any(each.start < mention.end and mention.start < each.end for mention in own))
    return list(islice(kept, MAX_CANDIDATES))


def _dates(slot: GoldSlot, response: FoldedResponse) -> Iterator[Mention]:
    precision = sum(part is not None for part in slot.fullest_date[:3])
    for date in response.dates if precision > 1 else response.dates + response.years:
        if sum(part is not None for part in date[:3]) >= precision:
            yield Mention(date.start, date.end, "date")


def _quantities(slot: GoldSlot, asked: Asked, response: FoldedResponse, own: Sequence[Mention]) -> Iterator[Mention]:
    values = {wanted.value for wanted in slot.quantities}
    units = {wanted.unit for wanted in slot.quantities}
    spans = {mention[:2] for mention in own}
    # If the response omits the unit of the answer, it can omit the unit of a rival as well: 'perhaps 100, perhaps 80'.
    omits_unit = units.isdisjoint(LOOSE) and {""} == {
        found.unit for found in response.quantities if (found.start, found.end) in spans
    }
    for found in response.quantities:
        written = response.text[found.start : found.end]
        # In phrases such as 一条, 一 is treated as an article unless the gold answer has the same unit.
        is_article = written[:1] == "一" and len(written) == 2 and found.unit not in units
        is_answer = found.value in values and (found.start, found.end) not in response.partial
        if is_answer or is_article or written in asked.text:
            continue
        is_rival = any(_is_rival(found.unit, wanted.unit or asked.unit) for wanted in slot.quantities)
        if is_rival or (omits_unit and not found.unit):
            yield Mention(found.start, found.end, "number")


def _is_rival(unit: str, wanted: str) -> bool:
    return are_same(unit, wanted) or (unit in LOOSE and wanted in LOOSE and bool(unit))


def _names_en(response: FoldedResponse, asked: Asked, own: Sequence[Mention]) -> Iterator[Mention]:
    original, text, at = response.original, response.text, 0
    answers = {text[mention.start : mention.end] for mention in own}
    is_person = asked.asks_who and any(" " in answer for answer in answers)
    for match in _NAME.finditer(original[:4000]):
        name = (match[0].lower() if match[0].isascii() else fold(match[0], "en")).strip(" \"'.")
        parts = name.split()
        while parts and parts[0] in COMMON:
            parts.pop(0)
        if not parts or (is_person and (len(parts) < 2 or not ORGANISATIONS.isdisjoint(parts))):
            continue
        is_heading = original[match.end() : match.end() + 1] == ":"
        if len(parts) == 1 and (is_heading or parts[0] in _STARTERS or _NEGATIVE.search(parts[0]) or "'" in parts[0]):
            continue
        name = " ".join(parts)
        start = text.find(name, at)
        if start < 0 or all(part in asked.text or part in _NOBLE for part in parts):
            continue
        if "".join(part[0] for part in parts if part not in COMMON) in answers:  # the complete name of the NBA
            continue
        at = start + len(name.removesuffix("'s"))
        yield Mention(start, at, "name")


def _names_zh(response: FoldedResponse, asked: Asked, own: Sequence[Mention]) -> Iterator[Mention]:
    text, start = response.text[:4000], 0
    answers = {text[mention.start : mention.end] for mention in own}
    for end in [*(match.start() for match in _CLAUSE.finditer(text)), len(text)]:
        clause = text[start:end]
        for pattern in () if clause.isascii() else (_FILLER, _LEADING):
            if (match := pattern.search(clause)) and _is_name(match[1], asked, answers):
                yield Mention(start + match.start(1), start + match.end(1), "name")
        start = next((match.end() for match in [_CLAUSE.match(text, end)] if match), end)


def _is_name(filler: str, asked: Asked, answers: set[str]) -> bool:
    if _FUNCTION.search(filler) or "是" in filler or filler[-1] == "的" or any(answer in filler for answer in answers):
        return False
    if asked.asks_who and "·" not in filler and (filler[0] not in SURNAMES or len(filler) > 4):
        return False
    return not any(filler[at : at + 2] in asked.text for at in range(len(filler) - 1))
