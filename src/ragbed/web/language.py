"""The language of a whole text, as far as we need it: English, Chinese, or another."""

from __future__ import annotations

import re

from ragbed.schema import Lang

_SAMPLE = 20_000
"""Characters looked at."""
_SCRIPTS = {
    "han": re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"),
    "kana": re.compile(r"[\u3040-\u30ff]"),
    "hangul": re.compile(r"[\uac00-\ud7af]"),
    "latin": re.compile(r"[A-Za-z\u00c0-\u024f]+"),
}
_OTHER_LETTERS = re.compile(r"[\u0370-\u1fff\ua000-\uabff]+")
_ENGLISH = re.compile(
    r"\b(?:the|of|and|to|in|that|for|is|was|with|by|from|has|had|are|were|which|it|its|on|be|been|this|not|but|he|his|they"
    r"|their|who|when|my|have|after|said)\b",
    re.IGNORECASE,
)
"""Not a, an, as and at, which other languages have too."""
_ENGLISH_SHARE = 0.125
"""English text has 30 to 40 of these in a hundred words, short news full of names 15 at the least; German and Dutch,
which share some of them, have up to 10, lists of names 5."""
_KANA_SHARE = 0.05
"""Japanese has more kana than Han characters; Chinese quotes a brand name now and then."""


def tell_language(text: str) -> Lang | None:
    """The language of a text; None if it is none of ours, or too little to tell."""
    sample = text[:_SAMPLE]
    count = {name: len(script.findall(sample)) for name, script in _SCRIPTS.items()}
    letters = count["han"] + count["kana"] + count["hangul"] + count["latin"] + len(_OTHER_LETTERS.findall(sample))
    if count["han"] > letters / 2:
        return "zh" if count["kana"] <= _KANA_SHARE * count["han"] else None
    if count["latin"] <= letters / 2 or not letters:
        return None
    return "en" if len(_ENGLISH.findall(sample)) >= _ENGLISH_SHARE * count["latin"] else None
