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
    r"\b(?:the|of|and|to|that|for|is|with|by|from|has|had|are|were|which|it|its|on|be|been|have|said|this|these|but|his|her"
    r"|they|after|before|not|he|she|my|their|who|when|than|while|about|into)\b",
    re.IGNORECASE,
)
"""Those that no language near to it has: not a, as, at, in and was."""
_SMALL = re.compile(r"\b[a-z\u00df-\u00f6\u00f8-\u00ff][A-Za-z\u00c0-\u024f]*")
"""Words that are no names: news may be full of names."""
_ENGLISH_SHARE = 0.08
"""English has 35 of these for a hundred small words, and of 2,400 short news of ours none fewer than 9; Danish, which
shares for, has 6, other languages fewer."""
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
    small, english = len(_SMALL.findall(sample)), len(_ENGLISH.findall(sample))
    return "en" if english and english >= _ENGLISH_SHARE * small else None
