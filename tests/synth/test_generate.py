"""Synthetic datasets on disk: reproducible bytes, complete files or none."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from ragbed.data import Dataset
from ragbed.synth import SynthSpec, make_items, write_dataset
from ragbed.synth.generate import SynthManifest

_SMALL = SynthSpec(9, "zh", 2, 2, 2, true_documents=2, tokens=80)


def test_the_manifest_describes_every_file(tmp_path: Path) -> None:
    manifest = write_dataset((_SMALL,), {"base": 6, "int": 2, "fact": 0}, tmp_path, workers=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json", "zh_base.jsonl", "zh_int.jsonl"]
    assert msgspec.json.decode((tmp_path / "manifest.json").read_bytes(), type=SynthManifest) == manifest
    for name, file in manifest.files.items():
        content = (tmp_path / name).read_bytes()
        assert (file.bytes, file.sha256) == (len(content), hashlib.sha256(content).hexdigest())
        items = list(Dataset("synthetic", tmp_path / name).items())
        assert (file.items, file.documents) == (len(items), sum(len(item.passages) for item in items))


def test_an_item_depends_on_its_ordinal_only() -> None:
    for kind in ("base", "int", "fact"):
        assert list(make_items(_SMALL, kind, 5, 8)) == list(make_items(_SMALL, kind, 0, 8))[5:]


def test_the_bytes_depend_neither_on_workers_nor_on_the_hash_seed(tmp_path: Path) -> None:
    count = 420  # enough items to start processes
    alone = write_dataset((_SMALL,), {"base": count}, tmp_path / "alone", workers=1)
    code = (
        "from pathlib import Path; from ragbed.synth import SynthSpec, write_dataset\n"
        "if __name__ == '__main__':\n"
        f"    write_dataset((SynthSpec(9, 'zh', 2, 2, 2, true_documents=2, tokens=80),), {{'base': {count}}}, "
        f"Path({str(tmp_path / 'many')!r}), workers=2)\n"
    )
    script = tmp_path / "many.py"
    script.write_text(code, "utf-8")
    subprocess.run([sys.executable, str(script)], check=True, env={**os.environ, "PYTHONHASHSEED": "77"})
    assert msgspec.json.decode((tmp_path / "many" / "manifest.json").read_bytes(), type=SynthManifest) == alone


def test_an_interrupted_generation_leaves_the_folder_unchanged(tmp_path: Path) -> None:
    write_dataset((_SMALL,), {"base": 2}, tmp_path, workers=1)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    written = []

    def interrupt(count: int) -> None:
        written.append(count)
        if len(written) == 2:  # the base items are complete
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_dataset((_SMALL,), {"base": 4, "int": 2}, tmp_path, workers=1, on_progress=interrupt)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
