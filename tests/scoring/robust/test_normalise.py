"""Folding of texts for comparison."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbed.schema import Lang
from ragbed.scoring.robust.normalise import fold, origins


@pytest.mark.parametrize(
    ("text", "lang", "folded"),
    [
        ("Svante PÄÄBO", "en", "svante paabo"),
        ("Søren Łódź", "en", "soren lodz"),
        ("ＡＢＣ１２３％", "en", "abc123%"),
        ("“X” – ‘Y’", "en", "\"x\" - 'y'"),
        ("ﬁne ①", "en", "fine 1"),
        ("e\u0301a\u200bb\u00ad", "en", "eab"),
        ("too  many   spaces", "en", "too many spaces"),
        ("詹姆斯・卡梅隆", "zh", "詹姆斯·卡梅隆"),
        ("臺灣總統 馬 英九", "zh", "台湾总统马英九"),
        ("1361 万", "zh", "1361万"),
        ("iPhone 14 2022 年", "zh", "iphone 14 2022年"),
        ("44，15", "zh", "44, 15"),
    ],
)
def test_equivalent_characters_are_unified(text: str, lang: Lang, folded: str) -> None:
    assert fold(text, lang) == folded


@given(st.text(), st.sampled_from(("en", "zh")))
def test_folding_is_idempotent_and_every_character_has_a_position(text: str, lang: Lang) -> None:
    folded, positions = fold(text, lang), origins(text, lang)
    assert len(positions) == len(folded) + 1
    assert positions == sorted(positions)
    assert fold(folded, lang) == folded
