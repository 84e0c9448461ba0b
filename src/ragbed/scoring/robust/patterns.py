"""How the banks of phrases are written: lists of words, put together to patterns."""

from __future__ import annotations

import re
from typing import Any, cast


def any_of(words: str) -> str:
    """A pattern for one of the words of a list; an underscore stands for a space, and a word may be a pattern."""
    return "(?:" + "|".join(words.split()).replace("_", " ") + ")"


class _Late:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a pattern can do
        method = getattr(re.compile(self._pattern), name)
        setattr(self, name, method)
        return method


def late(pattern: str) -> re.Pattern[str]:
    """A pattern that is compiled when a reply first needs it; all of them would take longer than to score a hundred."""
    return cast("re.Pattern[str]", _Late(pattern))


WRONG = any_of("incorrect wrong false inaccurate mistaken erroneous untrue misleading fictional fabricated")
"""What an error is called."""

NOT_RIGHT = rf"not (?:\w+ )?{any_of('correct true right accurate factual the_(?:correct|right|actual|true)')}"

FALSE_ZH = any_of("错误 不正确 不准确 不属实 有误 不符 失实")
