"""How the banks of phrases are written: lists of words, put together to patterns."""

from __future__ import annotations


def any_of(words: str) -> str:
    """A pattern for one of the words of a list; an underscore stands for a space, and a word may be a pattern."""
    return "(?:" + "|".join(words.split()).replace("_", " ") + ")"


WRONG = any_of("incorrect wrong false inaccurate mistaken erroneous untrue misleading fictional fabricated")
"""What an error is called."""

NOT_RIGHT = rf"not (?:\w+ )?{any_of('correct true right accurate factual the_(?:correct|right|actual|true)')}"

FALSE_ZH = any_of("错误 不正确 不准确 不属实 有误 不符 失实")
