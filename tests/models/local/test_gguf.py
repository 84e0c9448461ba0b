"""Test that weights are checked before they are loaded, and that errors name the fix."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest

from ragbed.errors import UsageError
from ragbed.models.local.gguf import read_weights
from tests.models.weights import SOUND, write_gguf


def test_the_metadata_of_a_file_is_read(tmp_path: Path) -> None:
    weights = read_weights(write_gguf(tmp_path / "m.gguf", SOUND))
    assert (weights.architecture, weights.context) == ("llama", 512)
    assert weights.template.startswith("{% for message")
    assert weights.controls == ("<s>", "<|end|>")
    assert weights.sha256() == hashlib.sha256((tmp_path / "m.gguf").read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"tokenizer.chat_template": None}, "has no chat template.* Use the GGUF file of an instruction-tuned model"),
        ({"tokenizer.chat_template": " "}, "has no chat template"),
        ({"general.architecture": None}, "does not specify a model architecture. Download the file again"),
        ({"llama.context_length": None}, r"has no valid context length \(llama.context_length\)"),
    ],
)
def test_missing_metadata_is_named(tmp_path: Path, changes: dict[str, object], problem: str) -> None:
    metadata = {name: value for name, value in (SOUND | changes).items() if value is not None}
    with pytest.raises(UsageError, match=problem):
        read_weights(write_gguf(tmp_path / "m.gguf", metadata))


def test_an_invalid_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is a folder. Choose a .gguf file"):
        read_weights(tmp_path)
    for content in (b"", b"PK\x03\x04 is a zip archive", b"GG"):
        (tmp_path / "other.gguf").write_bytes(content)
        with pytest.raises(UsageError, match=r"other\.gguf is not a GGUF file"):
            read_weights(tmp_path / "other.gguf")
    with pytest.raises(UsageError, match=r"damaged \(unknown format version 9\). Download the file again"):
        read_weights(write_gguf(tmp_path / "new.gguf", SOUND, version=9))


def test_a_truncated_or_damaged_file_is_read_or_named(tmp_path: Path) -> None:
    whole = write_gguf(tmp_path / "m.gguf", SOUND).read_bytes()
    cut, draw = tmp_path / "cut.gguf", random.Random(5)
    for length in range(4, len(whole), 7):
        cut.write_bytes(whole[:length])
        with pytest.raises(UsageError, match=r"is truncated or damaged .*\. Download the file again"):
            read_weights(cut)
    for _ in range(100):
        damaged = bytearray(whole)
        for _ in range(3):
            damaged[draw.randrange(4, len(damaged))] = draw.randrange(256)
        cut.write_bytes(damaged)
        try:
            read_weights(cut)
        except UsageError:
            continue
