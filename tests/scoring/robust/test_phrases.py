"""Phrases are found at any position, whether or not the same sentence was searched before."""

from __future__ import annotations

import pytest

from ragbed.schema import Lang
from ragbed.scoring.robust.patterns import terms_of
from ragbed.scoring.robust.phrases import find_phrases
from ragbed.scoring.robust.question import read_question


@pytest.mark.parametrize(
    ("lang", "question", "sentence", "prefix"),
    [
        ("en", "Who won the cup?", "there is insufficient information in the documents.", "a short text. "),
        ("en", "Who won the cup?", "there are factual errors in the provided documents.", "a short text. "),
        ("zh", "谁获得了冠军？", "由于文档信息不足,因此无法回答该问题。", "这是另一句话。"),
        ("zh", "谁获得了冠军？", "提供文档的文档存在事实性错误。", "这是另一句话。"),
    ],
)
def test_repeated_sentence_gives_the_same_phrases(lang: Lang, question: str, sentence: str, prefix: str) -> None:
    asked = read_question(question, lang)
    first, *others = (find_phrases(text, terms_of(text), asked) for text in (prefix * n + sentence for n in range(4)))

    assert any(first)
    for number, found in enumerate(others, start=1):
        shift = number * len(prefix)
        moved = tuple([m._replace(start=m.start + shift, end=m.end + shift) for m in mentions] for mentions in first)
        assert found == moved
