"""Write lists of words and build patterns from them, and collect the words of a text to skip hopeless searches."""

from __future__ import annotations

import re
from typing import Any, TypeAlias, cast

# The Latin words of a folded text and its characters. A search whose words are not among them is skipped, so that one
# pass over the text replaces a dozen.
Terms: TypeAlias = frozenset[str]

_WORD = re.compile(r"[a-z'][a-z']+")


def terms_of(text: str) -> Terms:
    """Return the Latin words and the characters of a folded text."""
    return frozenset(text).union(_WORD.findall(text))


def words(text: str) -> frozenset[str]:
    """Return the set of words that a text lists."""
    return frozenset(text.split())


def any_of(text: str) -> str:
    """Return a pattern for one of the listed words. An underscore means a space, and a word may be a pattern."""
    return "(?:" + "|".join(text.split()).replace("_", " ") + ")"


class _LazyPattern:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute of a pattern
        method = getattr(re.compile(self._pattern), name)
        setattr(self, name, method)
        return method


def lazy(pattern: str) -> re.Pattern[str]:
    """Return a pattern that is compiled on first use; compiling all takes longer than scoring a hundred responses."""
    return cast("re.Pattern[str]", _LazyPattern(pattern))


NEGATIONS = words(
    "not no never neither nor none cannot isn't wasn't aren't weren't don't doesn't didn't can't couldn't won't "
    "wouldn't hasn't haven't hadn't shouldn't ain't"
)
WRONG = any_of("incorrect wrong false inaccurate mistaken erroneous untrue misleading fictional fabricated")
NOT_RIGHT = rf"not (?:\w+ )?{any_of('correct true right accurate factual the_(?:correct|right|actual|true)')}"
FALSE_ZH = any_of("错误 不正确 不准确 不属实 有误 不符 失实")
