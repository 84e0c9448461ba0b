"""The words of two languages."""

from __future__ import annotations

import re

from ragbed.report.words import read_words


def test_both_languages_have_the_same_texts_with_the_same_gaps() -> None:
    english, chinese = read_words("en").texts, read_words("zh").texts
    assert english.keys() == chinese.keys()
    for key, text in english.items():
        assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", chinese[key])), key
