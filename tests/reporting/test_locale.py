"""The words of two languages."""

from __future__ import annotations

import re

from ragbed.analysis.locale import read_words
from ragbed.testbeds import TESTBEDS


def test_both_languages_have_the_same_texts_with_the_same_gaps() -> None:
    english, chinese = read_words("en").texts, read_words("zh").texts
    plain = (
        "values.distractors.",
        "values.prior.",
        "values.setting.",
        "values.injected.",
    )  # English shows these values as they are
    assert english.keys() == {key for key in chinese if not key.startswith(plain)}
    for key, text in english.items():
        assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", chinese[key])), key


def test_every_testbed_has_a_name() -> None:
    assert list(read_words("zh").section("values.testbed")) == [*TESTBEDS, "traces"]


def test_the_method_names_all_outcomes() -> None:
    for lang, outcomes in {
        "en": ("complete response", "truncated response", "content filter", "error"),
        "zh": ("完整回答", "被截断", "内容过滤", "出错"),
    }.items():
        text = read_words("zh" if lang == "zh" else "en")("method.intro")
        assert all(outcome in text for outcome in outcomes)
