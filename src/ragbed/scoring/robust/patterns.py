"""Build patterns from word lists, and collect the words in a text to skip searches that cannot match."""

from __future__ import annotations

import re
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


def lazy(pattern: str, chinese: str = "") -> re.Pattern[str]:
    """Return a pattern that is compiled on first use; compiling all patterns takes longer than scoring 100 responses.

    Args:
        pattern: The pattern, or its English alternatives.
        chinese: Its Chinese alternatives, if any.
    """
    return cast("re.Pattern[str]", _LazyPattern(f"{pattern}|{chinese}" if chinese else pattern))
