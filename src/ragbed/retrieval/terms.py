"""Words of a text for a full-text index: Latin words as they are, Chinese as pairs of neighbouring characters.

Chinese has no spaces; pairs need no dictionary, and a word of two characters or more is found by its pairs.
"""

from __future__ import annotations

import re

_HAN = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(rf"[{_HAN}]+|[^\W_{_HAN}]+")
_IS_HAN = re.compile(rf"[{_HAN}]")


def words_of(text: str) -> list[str]:
    """The words, in order, in lower case."""
    words: list[str] = []
    for run in _RUN.findall(text.lower()):
        if _IS_HAN.match(run) and len(run) > 1:
            words += (run[place : place + 2] for place in range(len(run) - 1))
        else:
            words.append(run)
    return words
