"""`ragbed-mini`: the bytes that ship are the bytes that the recorded seed gives."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path

import msgspec

from ragbed.synth.generate import World
from ragbed.synth.mini import COUNTS, PREFIX, SEED, write_mini

MANIFEST_SHA256 = "aa4e2bf25690b5d56d2ff390f7dacafe174038418fa9f4db52d1719a4b4ec0f3"
"""Of the manifest, which has the hash of every file. It changes with the generator's version only."""


def _shipped(name: str) -> bytes:
    return (files("ragbed.data") / "bundled" / name).read_bytes()


def test_the_shipped_edition_is_the_pinned_one_and_can_be_made_again(tmp_path: Path) -> None:
    manifest = _shipped(f"{PREFIX}manifest.json")
    assert hashlib.sha256(manifest).hexdigest() == MANIFEST_SHA256
    world = write_mini(tmp_path)
    shipped = msgspec.json.decode(manifest, type=World)
    assert (shipped.generator, shipped.recipes, shipped.files) == (world.generator, world.recipes, world.files)
    for name in world.files:
        assert (tmp_path / name).read_bytes() == _shipped(name), name


def test_it_is_small_and_has_what_the_demo_needs() -> None:
    shipped = msgspec.json.decode(_shipped(f"{PREFIX}manifest.json"), type=World)
    assert sum(file.bytes for file in shipped.files.values()) <= 2_000_000
    assert {recipe.seed for recipe in shipped.recipes} == {SEED}
    assert {name: file.items for name, file in shipped.files.items()} == {
        f"{PREFIX}{lang}_{kind}.jsonl": count for lang in ("en", "zh") for kind, count in COUNTS.items()
    }
