"""Test the tokenizer with small vocabularies."""

from __future__ import annotations

import pytest

from ragbed.retrieval.unigram import CACHED_LENGTH, Unigram

PIECES = {
    "<unk>": 0.0,
    "▁": -5.0,
    "▁new": -3.0,
    "s": -4.0,
    "▁news": -6.0,
    "▁ne": -4.0,
    "w": -4.0,
    "北": -5.0,
    "北京": -7.0,
}


def make(pieces: dict[str, float] = PIECES, fold: dict[int, str] | None = None) -> Unigram:
    return Unigram(pieces, unknown=0, fold=fold or {}, special={0})


def spell(vocabulary: Unigram, text: str) -> list[str]:
    return [list(PIECES)[piece] for piece in vocabulary.encode(text)]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("news", ["▁news"]),  # -6 beats -3 - 4
        ("new news", ["▁new", "▁news"]),
        ("  new   news", ["▁new", "▁news"]),
        ("", ["▁"]),
        ("北京", ["▁", "北京"]),
        ("news<unk>", ["▁news", *["<unk>"] * 5]),  # a mark that is spelled is text: five characters nobody knows
        ("\ud800", ["▁", "<unk>"]),
    ],
)
def test_the_most_probable_pieces_are_taken(text: str, pieces: list[str]) -> None:
    assert spell(make(), text) == pieces


def test_code_points_are_folded_before_splitting() -> None:
    assert spell(make(fold={ord("ｎ"): "n", 0x200B: ""}), "ｎe\u200bws") == ["▁news"]


def test_long_runs_are_split_like_short_ones() -> None:
    run = "北京" * CACHED_LENGTH
    assert spell(make(), run) == ["▁", *["北京"] * CACHED_LENGTH]
