"""Print hashes of the request bodies that models would be sent, so that two versions of ragbed can be compared.

The hashes in tests/models/request_bodies.json are those of commit baab864, before reasoning models and parameter
negotiation were supported. They were made with:

    git archive baab864 src | tar -x -C /tmp/old
    PYTHONPATH=/tmp/old/src python scripts/hash_request_bodies.py > tests/models/request_bodies.json

Each hash covers 40 prompts in English and Chinese. Providers that did not exist in that commit have no hash, and
neither have the requests of judges that now ask for JSON output.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

from ragbed import models
from ragbed.models.base import Sampling
from ragbed.models.presets import PRESETS
from ragbed.schema import Case, Message

_CASES = 40
_KEY = "key-of-the-script"
_ENVIRON = {
    "OPENAI_API_KEY": _KEY, "ANTHROPIC_API_KEY": _KEY, "T_BASE_URL": "http://127.0.0.1:1/v1", "T_API_KEY": _KEY,
}  # fmt: skip
_OWN_SERVER = _ENVIRON | {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
_SAMPLINGS = {
    "default": Sampling(),
    "sampled": Sampling(temperature=0.7, top_p=0.9, max_tokens=1_000),
}
# Model string and environment by the name of a row.
_MODELS: dict[str, tuple[str, dict[str, str]]] = {
    "openai": ("openai/gpt-4o-mini", _ENVIRON),
    "openai at another URL": ("openai/gpt-4o-mini", _OWN_SERVER),
    "openai-api": ("openai-api/t/org/model", _ENVIRON),
    "vllm": ("vllm/Qwen/Qwen2.5-7B-Instruct", _ENVIRON),
    "ollama": ("ollama/qwen2.5:7b", _ENVIRON),
    "anthropic": ("anthropic/claude-sonnet-4-5", _ENVIRON),
    "http": ("http/127.0.0.1:1/ask", _ENVIRON),
}


def hash_bodies() -> dict[str, str]:
    """Return the hash of all bodies for each model and sampling, and for each preset."""
    found = {
        f"{name}, {sampling}": _hash(model, environ, sampling=_SAMPLINGS[sampling])
        for name, (model, environ) in _MODELS.items()
        for sampling in _SAMPLINGS
    }
    found["vllm, a judge's choices"] = _hash("vllm/m", _ENVIRON, sampling=Sampling(choices=("yes", "no")))
    for name, preset in PRESETS.items():
        found[f"openai-api, preset {name}"] = _hash("openai-api/t/m", _ENVIRON, preset=preset)
    return found


def _hash(model: str, environ: dict[str, str], **settings: Any) -> str:  # noqa: ANN401 - settings of a model
    make = getattr(models, "ModelConfig", None) or models.Wish  # type: ignore[attr-defined]  # its name in baab864
    opened = models.open_model(model, lambda rest: make(rest, environ, **settings))
    hasher = hashlib.sha256()
    for number in range(_CASES):
        hasher.update(opened.request(_case(number)) + b"\n")
    return hasher.hexdigest()


def _case(number: int) -> Case:
    documents = f"{'文档' if number % 2 else 'Document'} {number}: “é” \\ \n\t"
    messages: tuple[Message, ...] = (Message(role="user", content=f"{documents}?"),)
    if number % 4 < 2:
        messages = (Message(role="system", content=documents), *messages)
    return Case(
        case=f"t/{number}", data="t", item=str(number), lang="zh" if number % 2 else "en", testbed="noise",
        question=f"{number}?", noise=0.0, noise_real=0.0, k=5, correct=0.0, arm="related", profile="robust", seed=0,
        feasible=True, documents=(), slots=(), messages=messages, answer=(("Paris",),), fake=None, expect="answer",
    )  # fmt: skip


if __name__ == "__main__":
    sys.stdout.write(json.dumps(hash_bodies(), indent=2) + "\n")
