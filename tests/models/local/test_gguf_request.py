"""The request of a GGUF model, which is the key of its cached responses."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Sampling
from tests.models.weights import SOUND, write_gguf
from tests.runs.harness import make_case


def test_requests_with_other_seeds_differ(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", SOUND)
    requests = []
    for seed in (None, 1, 2):
        sampling = Sampling(seed=seed)
        model = open_model(f"llamacpp/{path}", partial(ModelConfig, environ={}, sampling=sampling, loads=False))
        requests.append(model.request(make_case(0)))
    assert len(set(requests)) == 3
    assert b"seed" not in requests[0]
