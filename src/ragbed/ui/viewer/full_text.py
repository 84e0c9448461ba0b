"""Full-text search in English and Chinese.

Texts are indexed by word, and each Chinese character is a word, so that single characters are found too. A text matches
a query if it contains all of the query's words. The last word can be incomplete. Chinese characters that are adjacent
in the query, and quoted words, must also be adjacent in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_HAN = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_HAN_RUN = re.compile(rf"[{_HAN}]+")
_QUOTED = re.compile(r'"([^"]*)"|“([^”]*)”|(\S+)')
_LETTER = rf"[^\W_{_HAN}]"
_WORD = re.compile(rf"[{_HAN}]|{_LETTER}+")
_BEFORE, _AFTER = 60, 140  # Numbers of characters to show before and after a match in an excerpt.
# Matches partial words at the edges of an excerpt.
_PIECE_BEFORE, _PIECE_AFTER = re.compile(rf"^{_LETTER}*\s*"), re.compile(rf"\s*{_LETTER}*$")


class _Phrase(NamedTuple):
    """A phrase of adjacent words. If `is_open` is set, the last word may be the start of a longer word."""

    words: list[str]
    is_open: bool


def spaced(text: str) -> str:
    """Put spaces around every Chinese character in a text, for SQLite's tokenizer."""
    return _HAN_RUN.sub(lambda run: f" {' '.join(run[0])} ", text)


def to_match(query: str) -> str | None:
    """Convert a query to an SQLite full-text expression, or return None if the query contains no words."""
    # Use only the words of the query, in quotation marks, so that SQLite does not treat any of them as an operator.
    parts = ['"' + " ".join(part.words) + '"' + ("*" if part.is_open else "") for part in _parse(query)]
    return " AND ".join(parts) or None


def excerpt(query: str, texts: Iterable[str]) -> str | None:
    """Return an excerpt around the match in the first text that contains the whole query.

    Return None if only SQLite considers the spellings equal, e.g. because accents differ.
    """
    patterns = [_pattern(part) for part in _parse(query)]
    for text in texts:
        found = [pattern.search(text) for pattern in patterns]
        if found and found[0] and all(found):
            start, end = found[0].span()
            before, after = text[max(0, start - _BEFORE) : start], text[end : end + _AFTER]
            if start > _BEFORE:
                before = f"… {_PIECE_BEFORE.sub('', before)}"
            if end + _AFTER < len(text):
                after = f"{_PIECE_AFTER.sub('', after)} …"
            return f"{before}{text[start:end]}{after}".strip()
    return None


def _parse(query: str) -> list[_Phrase]:
    parts = []
    for found in _QUOTED.finditer(query):
        words = _WORD.findall(found[1] or found[2] or found[3] or "")
        if words:
            is_open = found.end() == len(query) and found[3] is not None and not _HAN_RUN.match(words[-1])
            parts.append(_Phrase(words, is_open))
    return parts


def _pattern(part: _Phrase) -> re.Pattern[str]:
    inside = r"[\W_]*".join(map(re.escape, part.words))
    before = "" if _HAN_RUN.match(part.words[0]) else f"(?<!{_LETTER})"
    after = "" if part.is_open or _HAN_RUN.match(part.words[-1]) else f"(?!{_LETTER})"
    return re.compile(f"{before}{inside}{after}", re.IGNORECASE)
