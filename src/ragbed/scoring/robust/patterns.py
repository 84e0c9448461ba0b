"""Build patterns from word lists, and collect the words in a text to skip searches that cannot match."""

from __future__ import annotations

import re
import sys
from typing import Any, TypeAlias, cast

# The Latin words and the individual characters in a folded text. A search is skipped if none of its words is in this
# set, so that one pass over the text replaces a dozen passes.
Terms: TypeAlias = frozenset[str]

_WORD = re.compile(r"[a-z'][a-z']+")
# Maps ASCII characters other than lowercase letters and apostrophes to spaces; splitting the result is faster than
# using a pattern.
_NO_LETTER = {code: " " for code in range(128) if not (chr(code).islower() or chr(code) == "'")}
_QUANTIFIERS = frozenset("?*+{")


def terms_of(text: str) -> Terms:
    """Return the Latin words and the individual characters in a folded text."""
    return frozenset([*text, *(text.translate(_NO_LETTER).split() if text.isascii() else _WORD.findall(text))])


def words(text: str) -> frozenset[str]:
    """Return the set of words listed in a string. Underscores stand for spaces."""
    return frozenset(word.replace("_", " ") for word in text.split())


def any_of(text: str) -> str:
    """Return a pattern that matches any word or pattern listed in a string. Underscores stand for spaces."""
    return alternatives([word.replace("_", " ") for word in text.split()])


def alternatives(options: list[str]) -> str:
    """Return a pattern that matches any of the options, grouped by their first letter to make the search faster."""
    groups: list[dict[str, list[str]]] = [{}]
    for option in options:
        if option[:1].isalpha() and option[1:2] not in _QUANTIFIERS:
            groups[-1].setdefault(option[0], []).append(option[1:])
        else:  # Alternatives without a fixed first letter cannot be grouped, so they keep their position.
            groups += [{option: []}, {}]
    found = []
    for group in groups:
        for first, rests in group.items():
            found.append(first + (alternatives(rests) if len(rests) > 1 else "".join(rests)))
    return "(?:" + "|".join(found) + ")"


class _LazyPattern:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute of a pattern
        method = getattr(re.compile(self._pattern), name)
        setattr(self, name, method)
        return method


class _BilingualPattern:
    """Searches for English and Chinese phrases separately, which is faster than searching for both at each position."""

    def __init__(self, english: str, chinese: str) -> None:
        self._english, self._chinese = lazy(english), lazy(chinese)

    def search(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        if text.isascii():
            return self._english.search(text, start, end)
        found = self._chinese.search(text, start, end)
        return found or (self._english.search(text, start, end) if _WORD.search(text, start, end) else None)


def lazy(pattern: str, chinese: str = "") -> re.Pattern[str]:
    """Return a pattern that is compiled on first use; compiling all patterns takes longer than scoring 100 responses.

    Args:
        pattern: The pattern, or its English alternatives.
        chinese: Its Chinese alternatives, if any; the pattern can then only tell whether a text has a match.
    """
    return cast("re.Pattern[str]", _BilingualPattern(pattern, chinese) if chinese else _LazyPattern(pattern))


NEGATIONS = words(
    "not no never neither nor none cannot isn't wasn't aren't weren't don't doesn't didn't can't couldn't won't "
    "wouldn't hasn't haven't hadn't shouldn't ain't"
)
# Adjectives that describe a statement as wrong.
WRONG = any_of(
    "incorrect wrong false inaccurate mistaken erroneous untrue misleading fictional fabricated bogus spurious "
    "fictitious fake flawed implausible dubious unreliable exaggerated"
)
NOT_RIGHT = r"not (?:\w+ )?" + any_of(
    "correct true right accurate factual credible plausible believable genuine reliable valid trustworthy realistic "
    "a_(?:valid|real|genuine|credible|believable|plausible) the_(?:correct|right|actual|true|real)"
)
# Words that denote a text of any kind or a statement in a text.
SOURCES = any_of(
    "documents? docs? passages? texts? sources? articles? snippets? excerpts? extracts? context materials? reports? "
    "pieces? "
    "pages? paragraphs? entry entries brochures? leaflets? tables? charts? press_releases? newspapers? magazines? "
    "journals? "
    "books? textbooks? encyclop(?:a)?edias? websites? blogs? blog_posts? accounts? papers? files? references? "
    "citations? "
    "captions? listings? databases? summar(?:y|ies) transcripts? letters? notices? posters? plaques? labels? "
    "catalogues? "
    "registers? handouts? guides? guidebooks? manuals? biograph(?:y|ies) wiki wikipedia flyers? bulletins? records? "
    "recipes? "
    "memos? pamphlets? programmes? news_items? stories story"
)
FALSE_ZH = any_of(
    "错误 不正确 不准确 不属实 有误 不符 失实 不实 误植 误记 误写 误传 笔误 写错 印错 记错 弄错 搞错 错的 谬误 讹误 "
    "不可信 不足为凭 不足为信 站不住脚 不可能正确 不可能是真 虚构的 是假的 不可能的"
)
# Chinese words that denote a text, a part of a text or its author.
SOURCES_ZH = any_of(
    "文档 文中 文章 文本 文字 文献 资料 材料 原文 上文 上下文 段落 片段 报道 报告 新闻稿? 稿件 稿中 公告 年报 "
    "说明书 宣传册 册子 手册 传记 百科 词条 食谱 "
    "菜谱 论文 综述 教材 课本 书中 书里 网页 网站 帖子 影评 书评 简介 档案 记录 记载 表格 清单 目录 公报 通稿 杂志 "
    "报纸 日报 晚报 期刊 海报 传单 "
    "告示 说明牌 牌匾 碑文 字幕 这篇 那篇 一篇 两篇 几篇 三篇 某篇 该篇 有篇 此篇 这份 两份 几份 一份 那份 多份 "
    "各份 这段 那段 一段 两段 几段 第[一二三四五0-9]+[篇份段条则] 两处 几处 多处 三处 各处 "
    "这则 两则 一则 作者 编者 记者 撰稿人 来源 出处 引文 条目 数据库 底稿 史料 文件 附件 表里 表中 注释 图注 "
    "\\[[0-9]\\]"
)
