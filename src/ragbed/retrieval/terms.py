"""Split text into words for a full-text index: Latin words, and pairs of adjacent Chinese characters.

Chinese is written without spaces. Pairs need no dictionary, and every word with two or more characters can be found by
its pairs.
"""

from __future__ import annotations

import re

_HAN = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(rf"[{_HAN}]+|[^\W_{_HAN}]+")
_IS_HAN = re.compile(rf"[{_HAN}]")


def words_of(text: str) -> list[str]:
    """Return a text's words in order, in lower case."""
    words: list[str] = []
    for run in _RUN.findall(text.lower()):
        is_pairs = _IS_HAN.match(run) and len(run) > 1
        words += [run[at : at + 2] for at in range(len(run) - 1)] if is_pairs else [run]
    return words
