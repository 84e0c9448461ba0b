"""Folding of texts for comparison."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opencc import OpenCC

from ragbed.schema import Lang
from ragbed.scoring.robust.normalise import REPLACED_IN_GB2312, fold, origins


@pytest.mark.parametrize(
    ("text", "lang", "folded"),
    [
        ("Svante PÄÄBO", "en", "svante paabo"),
        ("Søren Łódź", "en", "soren lodz"),
        ("ＡＢＣ１２３％", "en", "abc123%"),
        ("“X” – ‘Y’", "en", "\"x\" - 'y'"),
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


def test_the_characters_of_gb2312_that_opencc_replaces_are_listed() -> None:
    simplify = OpenCC("t2s").convert
    han = [character for character in map(chr, range(0x3400, 0xA000)) if character.encode("gb2312", "ignore")]
    assert "".join(character for character in han if simplify(character) != character) == REPLACED_IN_GB2312


def test_other_characters_fold_in_the_same_way_in_both_languages() -> None:
    for character in map(chr, [*range(0x3400), *range(0xA000, 0x10000)]):
        assert fold(character, "zh").replace(" ", "") == fold(character, "en").replace(" ", "")
