"""The hash that identifies a version of the scorers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import ragbed
from ragbed.scoring import version


@pytest.mark.parametrize("changed", ["scoring/robust/weights/en.json.gz", "scoring/robust/lexicon/zh.toml", "text.py"])
def test_code_word_lists_and_weights_change_the_hash(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Path(ragbed.__file__).parent
    shutil.copytree(package / "scoring", tmp_path / "scoring", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(package / "text.py", tmp_path)
    monkeypatch.setattr(version, "files", lambda _: tmp_path)
    count = version.scorer_hash.__wrapped__
    assert count() == version.scorer_hash()
    with open(tmp_path / changed, "ab") as sink:
        sink.write(b" ")
    assert count() != version.scorer_hash()
