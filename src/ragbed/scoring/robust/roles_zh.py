"""Read the role of a mention in a Chinese clause."""

from __future__ import annotations

import re
from functools import lru_cache
from operator import add

from ragbed.scoring.robust.cues import chinese
from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.question import Asked
from ragbed.scoring.robust.role import DIRECT, Role, contrast_role, year_role

_REACH = 40
_REPEATED = 6  # minimum number of shared character pairs for a clause to count as repeating the question
_CLAUSE_START = re.compile(r"[,:(\"]|但是?|然而|不过|却(?!是)|而(?!不是|非)|则|于是|后来|结果|后(?=[^面来])")
_CLAUSE_END = re.compile(r"[,:)\"]|但是?|然而|不过|而(?!不是|非)")
_LINK = re.compile(r"(?:是|为|由|给了?|叫|:|在|于|属于|了)[^,。;的]{0,4}$")
_FROM = re.compile("[从由自][^,。;]{0,10}$")
_TO = re.compile("(?:增长|增加|上升|提高|下降|减少|降低?|升|涨|扩大|缩小|提升)[了]?(?:到|至|为)")
_BECOMES = re.compile("(?:升到|升至|涨到|涨至|降到|降至|改为|变为|变成|换成|调整为|更正为|修正为|改成)了?$")
_MISSES = re.compile("擦肩而过|失之交臂|无缘|差一步|功亏一篑")
_TITLE = re.compile("《([^》]{1,30})》")
_SPEAKS = re.compile('[^,。;:是]{0,8}?(说|表示|认为|透露|回忆|告诉|指出|谈到|坦言|声称|感慨)[:,"“]?')
_OWNS = re.compile("的(头像|支持者?|帮助|指导|建议|陪同|鼓励|影响|邀请|粉丝|照片|画像|口音|对手|手中|前任|论文|老师)")
_FINAL = "。.!?;\n"


def read_role(text: str, mention: Mention, asked: Asked, before: str, after: str) -> Role:
    """Return the role of a mention; `before` and `after` are the rest of its sentence."""
    before, after = before[-_REACH:], after[:_REACH]
    cut = 0
    for match in _CLAUSE_START.finditer(before):
        cut = match.end()
    stop = _CLAUSE_END.search(after)
    clause_before, clause_after = before[cut:], after[: stop.start()] if stop else after
    strength = _strength(asked, clause_before, clause_after)
    is_first = not text[: mention.start].strip(" \n\"'(《<") and stop is not None and not stop.start()
    if is_first or not (before + after).strip("《》<>\"' "):
        strength = DIRECT
    status = _status(mention, asked, before[cut - 1 if cut else 0 :], clause_after)
    if status:
        return Role(status, weak=status == "rumoured", strength=strength)
    titles = set(_TITLE.findall(asked.text)) if "《" in asked.text else set()
    named = set(_TITLE.findall(clause_before + clause_after)) if titles else set()
    if named and not named & titles and any(title in text for title in titles):
        return Role("other-part", weak=False, strength=0)
    if other := contrast_role(asked, "zh", f"{clause_before}\0{clause_after}", text, strength):
        return other
    if year := year_role(asked, f"{clause_before}\0{clause_after}", text, strength):
        return year._replace(strength=max(strength, year.strength))
    is_weak = chinese().weak.search(clause_before) or (strength < DIRECT and _is_speaker(asked, mention, clause_after))
    return Role("related" if is_weak else "", weak=True, strength=strength)


def _is_speaker(asked: Asked, mention: Mention, after: str) -> bool:
    """Return whether a mention is a speaker, or the owner of something that the question does not ask for."""
    if mention.rule.startswith(("number", "date")):
        return False
    found = _SPEAKS.match(after)
    if found and found[1] not in asked.text:
        return True
    owned = _OWNS.match(after)
    return owned is not None and owned[1] not in asked.text and not (asked.family and asked.family.search(owned[1]))


def _strength(asked: Asked, before: str, after: str) -> int:
    clause = before[-24:] + "\0" + after[:24]
    if sum(map(asked.pairs.__contains__, map(add, clause, clause[1:]))) >= _REPEATED:
        return 2
    pattern = asked.family
    if _BECOMES.search(before):
        return 2
    if pattern is None:
        is_named = any(
            clause[at : at + 2] in asked.pairs for at in range(len(clause) - 1) if clause[at : at + 2].isalpha()
        )
        return 2 if is_named and _LINK.search(before) else 1 if _LINK.search(before) else 0
    if pattern.search(after):
        return 2
    ends = [found.end() for found in pattern.finditer(before)]
    if ends and (ends[-1] == len(before) or _LINK.search(before)):
        return 2
    return 1 if _LINK.search(before) else 0


def _status(mention: Mention, asked: Asked, before: str, after: str) -> str:
    cues = chinese()
    if mention.rule.startswith(("number", "date")):
        if (found := cues.bounds_before.search(before)) and found[0] not in asked.text:
            return "bounded"
        if cues.bounds_after.match(after):
            return "bounded"
        if _FROM.search(before) and _TO.match(after):
            return "compared"
        status = _status_of_name(asked, before, after)
        return "" if status == "related" else status
    return _status_of_name(asked, before, after)


def _status_of_name(asked: Asked, before: str, after: str) -> str:
    cues = chinese()
    closing = cues.between.get(before[-1:]) or cues.between.get(before[-2:])
    if closing and closing.match(after):
        return "" if asked.is_reversed else "compared"
    if status := _ranked(asked, before, after):
        return status
    if (found := cues.before.search(before)) and not _is_cancelled(
        asked, found.lastgroup or "", found[found.lastgroup or 0]
    ):
        return found.lastgroup or ""
    if re.match(rf"的(?:[^,。;的]{{0,4}})?{cues.kin}", after) and not _asks_kin(asked, after):
        return "related"
    status = _after(asked, after)
    return "" if status == "related" and before.endswith(("为", "给", "向")) else status


def _after(asked: Asked, after: str) -> str:
    if _MISSES.search(after, 0, 16) and not asked.is_reversed:
        return "compared"
    family = asked.family
    positive = family.search(after) if family else None
    for found in chinese().after.finditer(after, 0, 24):
        if found.start() > 12 or (positive and positive.end() < found.start()):
            return ""
        if not _is_cancelled(asked, found.lastgroup or "", found[0]):
            return found.lastgroup or ""
    return ""


def _is_cancelled(asked: Asked, status: str, phrase: str) -> bool:
    if asked.is_reversed and status in {"compared", "planned"}:
        return True
    return len(phrase) > 1 and phrase[:2] in asked.text


def _asks_kin(asked: Asked, after: str) -> bool:
    found = re.search(chinese().kin, after)
    return found is not None and found[0] in asked.text


def _ranked(asked: Asked, before: str, after: str) -> str:
    cues = chinese()
    if not _has_rank().search(before + after):
        return ""
    pattern = _rank_pattern()
    if (found := pattern.match(after)) and cues.ranks[found[1]] != asked.rank:
        return "ranked"
    found = re.search(rf"{_rank_words()}[^,。;]{{0,3}}?(?:是|为|由|给了?|归|:)[^,。;]{{0,4}}$", before)
    return "ranked" if found and cues.ranks[found[1]] != asked.rank else ""


@lru_cache(maxsize=1)
def _has_rank() -> re.Pattern[str]:
    return re.compile(_rank_words())


@lru_cache(maxsize=1)
def _rank_words() -> str:
    return "(" + "|".join(sorted(chinese().ranks, key=len, reverse=True)) + ")"


@lru_cache(maxsize=1)
def _rank_pattern() -> re.Pattern[str]:
    return re.compile(rf"(?:[^,。;]{{0,6}}?{chinese().rank_verbs}了?)?[^,。;]{{0,2}}?{_rank_words()}")
