"""Replicas of a model act like the model itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.errors import UsageError
from ragbed.models import ModelConfig
from ragbed.models.base import lacks_language
from ragbed.runs.engines import ReplicaSpec
from ragbed.runs.engines.replicas import ReplicatedModel, share_wish
from tests.models.weights import SOUND, write_gguf


def _replicated(spec: str) -> ReplicatedModel:
    config = ModelConfig(spec.partition("/")[2], {}, loads=False)
    return ReplicatedModel(None, spec, config, ReplicaSpec(), print)  # no worker is started


def test_replicas_list_the_languages_of_their_model(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", SOUND | {"general.languages": ["en"]})
    assert lacks_language(_replicated(f"llamacpp/{path}"), "zh")
    assert not lacks_language(_replicated(f"llamacpp/{path}"), "en")


def test_replicas_of_a_function_are_checked_like_the_function() -> None:
    with pytest.raises(UsageError, match="cannot be used in testbeds that provide documents"):
        _replicated(f"python/{__name__}:search_only").check_provided("documents", ())  # type: ignore[attr-defined]  # optional


def search_only(question: str, corpus: str, k: int, lang: str) -> str:
    return f"{question}{corpus}{k}{lang}"


def test_limits_hold_for_all_replicas_together_and_only_keys_and_addresses_travel() -> None:
    kept = {"OPENAI_API_KEY": "k", "TEST_BASE_URL": "http://a", "AWS_DEFAULT_REGION": "us-east-1"}
    environ = {**kept, "HOME": "/home/me", "AWS_SECRET": "s"}
    share = share_wish(ModelConfig("m", environ, connections=64, per_minute=100), 8)
    assert (share.connections, share.per_minute) == (8, 12.5)
    assert share.environ == kept
