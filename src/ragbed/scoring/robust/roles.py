"""Decide which role a mention has in its clause: the requested one, or another one, e.g. that of the loser.

A role has a status, which is empty if nothing speaks against the mention, and a strength: how clearly its clause
expresses the relation that the question asks for.
"""

from __future__ import annotations

from ragbed.schema import Lang
from ragbed.scoring.robust import roles_en, roles_zh
from ragbed.scoring.robust.assertion import sentence_around
from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.patterns import lazy
from ragbed.scoring.robust.question import Asked
from ragbed.scoring.robust.role import Role

_CONFIRMED = lazy(r"\?[\"')]* ?(?:yes|indeed|correct|right|that is|exactly|是的?[,。]|对[,。]|没错|正是|确实)")
_ONE = lazy(
    r"\b(?:one|some|first|document [0-9]|passage [0-9]|\[[0-9]\])[^.]{0,60}$|(?:一[篇份则个处]|有的|部分"
    r"|文档[0-9一二三四五])[^。]{0,20}$"
)
# The next pattern cannot match a sentence that has none of these words.
_DISPUTES = lazy(r"other|second|document|passage|\[|另一|有的|其他|文档")
_ANOTHER = lazy(
    r"\b(?:another|others?|the other|second)\b(?: \w+)? (?:says?|said|nam|claim|stat|mention|giv|list|report"
    r"|suggest|credit)"
    r"|\b(?:while|whereas|but) (?:document|passage|others?|another"
    r"|\[)|另一[篇份则个处]|有的[说称写]|其他.{0,3}[说称写]|而文档"
)


def read_role(text: str, mention: Mention, asked: Asked, lang: Lang) -> Role:
    """Return the role of a mention in its sentence."""
    before, after = sentence_around(text, mention)
    if _is_disputed(before, after):
        return Role("disputed", weak=False, strength=0)
    end = mention.end + len(after)
    if text[end : end + 1] == "?" and not _CONFIRMED.match(text, end):
        return Role("doubted", weak=not text[end:].strip(" ?\n\"'"), strength=0)
    read = roles_zh.read_role if lang == "zh" else roles_en.read_role
    return read(text, mention, asked, before, after)


def _is_disputed(before: str, after: str) -> bool:
    """Return whether a sentence reports that one source names the mention and another one does not."""
    if not _DISPUTES.search(before) and not _DISPUTES.search(after):
        return False
    if second := _ANOTHER.search(before):
        return _ONE.search(before, 0, second.start()) is not None
    return _ANOTHER.search(after) is not None and _ONE.search(before) is not None
