"""`ragbed-mini`: the recorded seed gives the bundled bytes."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path

import msgspec

from ragbed.synth.generate import SynthManifest
from ragbed.synth.mini import COUNTS, PREFIX, SEED, write_mini

# The manifest has the hash of every file. It changes with the version of the generator only.
MANIFEST_SHA256 = "aa4e2bf25690b5d56d2ff390f7dacafe174038418fa9f4db52d1719a4b4ec0f3"


def _bundled(name: str) -> bytes:
    return (files("ragbed.data") / "bundled" / name).read_bytes()


def test_the_bundled_dataset_is_pinned_and_reproducible(tmp_path: Path) -> None:
    manifest = _bundled(f"{PREFIX}manifest.json")
    assert hashlib.sha256(manifest).hexdigest() == MANIFEST_SHA256
    written = write_mini(tmp_path)
    bundled = msgspec.json.decode(manifest, type=SynthManifest)
    assert (bundled.generator, bundled.recipes, bundled.files) == (written.generator, written.recipes, written.files)
    for name in written.files:
        assert (tmp_path / name).read_bytes() == _bundled(name), name


def test_the_bundled_dataset_is_small_and_has_the_items_of_the_demo() -> None:
    bundled = msgspec.json.decode(_bundled(f"{PREFIX}manifest.json"), type=SynthManifest)
    assert sum(file.bytes for file in bundled.files.values()) <= 2_000_000
    assert {recipe.seed for recipe in bundled.recipes} == {SEED}
    assert {name: file.items for name, file in bundled.files.items()} == {
        f"{PREFIX}{lang}_{kind}.jsonl": count for lang in ("en", "zh") for kind, count in COUNTS.items()
    }
