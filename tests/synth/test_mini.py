"""The bundled dataset `ragbed-mini`, on which a small model can be evaluated with two CPU cores, is reproducible."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path
from typing import get_args

import msgspec

from ragbed.schema import Lang
from ragbed.synth import SynthManifest, SynthSpec, write_dataset

COUNTS = {"base": 60, "int": 20, "fact": 20}
# Each item has just enough documents for prompts with five documents, so that the files stay below two megabytes.
SPECS = tuple(
    SynthSpec(2024, lang, supports=6, distractors=6, part_supports=3, true_documents=5, tokens=65)
    for lang in get_args(Lang)
)
# The manifest has the hash of every file. It changes with the version of the generator only.
MANIFEST_SHA256 = "aa4e2bf25690b5d56d2ff390f7dacafe174038418fa9f4db52d1719a4b4ec0f3"


def _bundled(name: str) -> bytes:
    return (files("ragbed.data") / "bundled" / f"ragbed-mini-{name}").read_bytes()


def test_the_bundled_dataset_is_pinned_and_reproducible(tmp_path: Path) -> None:
    manifest = _bundled("manifest.json")
    assert hashlib.sha256(manifest).hexdigest() == MANIFEST_SHA256
    bundled = msgspec.json.decode(manifest, type=SynthManifest)
    written = write_dataset(SPECS, COUNTS, tmp_path, workers=1)
    assert (bundled.generator, bundled.recipes) == (written.generator, written.recipes)
    assert bundled.files == {f"ragbed-mini-{name}": file for name, file in written.files.items()}
    assert sum(file.bytes for file in bundled.files.values()) <= 2_000_000
    for name in written.files:
        assert (tmp_path / name).read_bytes() == _bundled(name), name
