"""Test sentence-transformers with a small model with random weights, without a download."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from ragbed.errors import RagbedError
from ragbed.retrieval import open_encoder
from ragbed.retrieval.base import Encoder

PLACES = 32
TEXTS = ["Who won?", "谁获得了文学奖？", "", "half a pair: \ud800", "x" * (PLACES - 2), "x" * (PLACES - 1)]


def write_model(folder: Path, seed: int, prompts: dict[str, str] | None = None) -> Path:
    """Return a model that reads characters, at most 30."""
    torch.manual_seed(seed)
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    spelled = [*marks, *map(chr, range(32, 127)), *"谁获得了文学奖？"]
    tokenizer = Tokenizer(models.WordLevel({piece: place for place, piece in enumerate(spelled)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    named = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=PLACES, **named).save_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(spelled), max_position_embeddings=PLACES, **sizes)).save_pretrained(folder)
    if prompts:
        SentenceTransformer(str(folder), prompts=prompts).save_pretrained(str(folder))
    return folder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return make(tmp_path_factory.mktemp("plain"), seed=0)


def make(folder: Path, seed: int, prompts: dict[str, str] | None = None) -> Encoder:
    found = open_encoder(f"st/{write_model(folder, seed, prompts)}")
    assert isinstance(found, Encoder)
    return found


def test_every_text_has_a_row_of_length_one(encoder: Encoder) -> None:
    vectors = encoder.encode(TEXTS, "passage")
    assert vectors.shape == (len(TEXTS), 16)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_no_texts_give_no_rows(encoder: Encoder) -> None:
    assert encoder.encode([], "passage").shape == (0, 16)


def test_neighbours_in_a_batch_do_not_change_a_vector(encoder: Encoder) -> None:
    alone = np.concatenate([encoder.encode([text], "passage") for text in TEXTS])
    assert np.abs(alone - encoder.encode(TEXTS, "passage")).max() < 1e-5


def test_prompts_of_the_model_precede_its_texts(tmp_path: Path, encoder: Encoder) -> None:
    prompted = make(tmp_path, seed=0, prompts={"query": "query: ", "document": "doc: "})
    plain = encoder.encode(["query: Who?", "doc: Who?"], "passage")
    found = np.concatenate([prompted.encode(["Who?"], role) for role in ("question", "passage")])
    assert np.abs(found - plain).max() < 1e-5


def test_identity_depends_on_the_weights(tmp_path: Path, encoder: Encoder) -> None:
    assert encoder.identity().split("sha256=")[1] != make(tmp_path, seed=1).identity().split("sha256=")[1]
    assert "sentence-transformers=" in encoder.identity()
    assert encoder.identity() == encoder.identity()


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(RagbedError, match=r"cannot be loaded: .*Use a model folder"):
        open_encoder(f"st/{tmp_path / 'nothing'}")
