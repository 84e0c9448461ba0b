"""Full-text search in English and Chinese.

A text is indexed by its words; every Chinese character is a word of its own, so that one character is found as well
as ten. What is searched for must all be there: words anywhere, the last one perhaps unfinished, Chinese characters
that stand together, and what stands in quotation marks, next to each other.
"""

from __future__ import annotations

import re

_HAN = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_HAN_RUN = re.compile(rf"[{_HAN}]+")
_QUOTED = re.compile(r'"([^"]*)"|“([^”]*)”|(\S+)')
_WORD = re.compile(rf"[{_HAN}]|[^\W_{_HAN}]+")


def spaced(text: str) -> str:
    """A text with room around every Chinese character, for SQLite's tokenizer."""
    return _HAN_RUN.sub(lambda run: f" {' '.join(run[0])} ", text)


def to_match(query: str) -> str | None:
    """What a person typed as an expression for SQLite; None if there is no word in it."""
    parts = []
    for found in _QUOTED.finditer(query):
        words = _WORD.findall(found[1] or found[2] or found[3] or "")
        if words:
            # Only words go in, and inside quotation marks, so that nothing of it is an operator.
            is_open = found.end() == len(query) and found[3] is not None and not _HAN_RUN.match(words[-1])
            parts.append('"' + " ".join(words) + '"' + ("*" if is_open else ""))
    return " AND ".join(parts) or None
