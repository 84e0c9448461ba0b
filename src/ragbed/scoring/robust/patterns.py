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


def terms_of(text: str) -> Terms:
    """Return the Latin words and the individual characters in a folded text."""
    return frozenset([*text, *(text.translate(_NO_LETTER).split() if text.isascii() else _WORD.findall(text))])


def words(text: str) -> frozenset[str]:
    """Return the set of words listed in a string. Underscores stand for spaces."""
    return frozenset(word.replace("_", " ") for word in text.split())


def any_of(text: str) -> str:
    """Return a pattern that matches any word or pattern listed in a string. Underscores stand for spaces."""
    return f"(?:{'|'.join(word.replace('_', ' ') for word in text.split())})"


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
