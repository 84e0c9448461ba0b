"""Full-text search in English and Chinese.

A text is indexed by its words; every Chinese character is a word of its own, so that one character is found as well
as ten. What is searched for must all be there: words anywhere, the last one perhaps unfinished, Chinese characters
that stand together, and what stands in quotation marks, next to each other.
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
_BEFORE, _AFTER = 60, 140
"""Characters that an excerpt has around what was found."""
_PIECE_BEFORE, _PIECE_AFTER = re.compile(rf"^{_LETTER}*\s*"), re.compile(rf"\s*{_LETTER}*$")
"""What may be half a word at the edges of an excerpt."""


class _Part(NamedTuple):
    """Words that stand together."""

    words: list[str]
    is_open: bool
    """Whether the last may be unfinished."""


def spaced(text: str) -> str:
    """A text with room around every Chinese character, for SQLite's tokenizer."""
    return _HAN_RUN.sub(lambda run: f" {' '.join(run[0])} ", text)


def to_match(query: str) -> str | None:
    """What a person typed as an expression for SQLite; None if there is no word in it."""
    # Only words go in, and inside quotation marks, so that nothing of it is an operator.
    parts = ['"' + " ".join(part.words) + '"' + ("*" if part.is_open else "") for part in _parse(query)]
    return " AND ".join(parts) or None


def excerpt(query: str, texts: Iterable[str]) -> str | None:
    """The surroundings of what a person typed, in the first of the texts that holds all of it.

    SQLite has found it already; a spelling that only SQLite takes for the same, as with other accents, gives None.
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


def _parse(query: str) -> list[_Part]:
    parts = []
    for found in _QUOTED.finditer(query):
        words = _WORD.findall(found[1] or found[2] or found[3] or "")
        if words:
            is_open = found.end() == len(query) and found[3] is not None and not _HAN_RUN.match(words[-1])
            parts.append(_Part(words, is_open))
    return parts


def _pattern(part: _Part) -> re.Pattern[str]:
    inside = r"[\W_]*".join(map(re.escape, part.words))
    before = "" if _HAN_RUN.match(part.words[0]) else f"(?<!{_LETTER})"
    after = "" if part.is_open or _HAN_RUN.match(part.words[-1]) else f"(?!{_LETTER})"
    return re.compile(f"{before}{inside}{after}", re.IGNORECASE)
